"""The forms of credentials: one table for facts, configuration and messages."""

# ruff: noqa: RUF001 - quotation marks and dashes of all kinds are meant

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from gaia_memory.redaction import form_checks as checks

Kind = Literal["a password", "a key or token", "a code", "a seed phrase", "an account number"]

PASSWORD, KEY, CODE, SEED_PHRASE, ACCOUNT_NUMBER = get_args(Kind)
"""The kinds of credentials; `memory.allow_numbers` keeps the last."""


class Form(NamedTuple):
    """How credentials of one kind look.

    `secret` tells where it stands: all that `pattern` matches, its last group, or the next word, which begins where
    the match ends. `check` looks at what the pattern cannot tell, and returns where in the secret and the text behind
    it the credential stands, None if there is none. `name` is the environment variable that such a key belongs in,
    where there is one.
    """

    name: str
    kind: Kind
    pattern: str
    secret: Literal["all", "group", "next"]
    check: Callable[[checks.Found], checks.Span | None] | None = None


def _key(name: str, pattern: str) -> Form:
    return Form(name, KEY, pattern, "group", checks.is_key)


def _any_of(patterns: str) -> str:
    return f"(?:{'|'.join(patterns.split())})"


PASSWORD_NAMES = _any_of(
    r"""
    p[a@4][s$5]{1,3}w[o0]r?d pass(?:wd|phrase|code|wort|ord) pwd kennwort contrase(?:n|ñ)a mot[\s_]+de[\s_]+passe senha
    palavra[-\s_]passe geheimwort losungswort parola wachtwoord l(?:ö|o)senord adgangskode kodeord salasana has(?:ł|l)o
    heslo jelsz(?:ó|a) (?:ş|s)ifre (?:П|п)арол κωδικ(?:ό|ο)ς סיסמ(?:ה|א|ת) كلمة\s+(?:ال)?(?:سر|مرور) رمز\s+عبور पासवर्ड
    パスワード 비밀번호 비번 پسورد گذرواژه পাসওয়ার্ড கடவுச்சொல் პაროლი գաղտնաբառ پاس\s?ورڈ slaptažodis lykilorð contrasenya
    nenosiri m(?:ậ|a)t\s+kh(?:ẩ|a)u รหัสผ่าน kata[\s_]+sandi 密码 密碼 口令 wi-?fi[\s_-]*(?:key|schlüssel|code|sleutel)
    wlan[\s_-]*(?:key|schlüssel) (?:cl(?:é|e)|clave|code)\s+wi-?fi
    """
)
_SHORT_NAMES = r"\b(?:pass|pw|psw|mdp|clave)"
_CODE_NAMES = _any_of(
    r"""
    \bpin(?:[\s_-]?(?:code|number|nummer)|码|碼|コード)? \bpuk \bm?tan \bt?otp \bcv[vc]2? \bgeheim(?:zahl|nummer)
    (?:П|п)ин pr(?:ü|u)f(?:ziffer|nummer|zahl) cryptogramme code\s+de\s+sécurité c(?:ó|o)digo\s+de\s+segu(?:ridad|rança)
    codice\s+di\s+sicurezza (?:security|verification|sicherheits|beveiligings)[\s-]?(?:code|number) セキュリティコード
    暗証番号 認証コード 認証番号 確認コード 安全码 验证码 驗證碼 校验码 动态码 인증번호 인증\s?코드
    """
)
_CODE_WORDS = _any_of(
    "(?:pass)?codes? kode c(?:ó|o)digo codice (?:К|к)од קוד kod κωδικός combinations? combinaison combinación"
    " combinação combinazione kombination"
)
_ANY_CODE = rf"(?:{_CODE_NAMES}|{_CODE_WORDS})"
_KEY_NAMES = (
    "(?:key|token|secret|schlüssel|clé|clave|chiave|chave|ключ|sessionid"
    "|(?:recovery|backup|rescue|licen[sc]e)[ _-]code)s?"
)
_LOGIN_NAMES = _any_of("creds? credentials log-?ins? zugangsdaten identifiants? credenciales credenziali")

PRIVATE_KEY = (
    r"(?s:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\z)|PuTTY-User-Key-File-\d.*)"
)
ADDRESS = r"(\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^:/@\s]{0,200}:)([^@\s]{1,500})@"
_LOGIN = r"(?:admin|root|guest|[\w.+-]{1,60}@[\w-]{1,40}\.[\w.-]{2,40})"
_CARD = (
    r"(?:(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d|64[4-9]\d|35[2-8]\d|62\d\d)(?:[ .-]?\d){12}"
    r"|3[47](?:[ .-]?\d){13}|3(?:0[0-5]|[689]\d)(?:[ .-]?\d){11})"
)
_SSN_NAMES = r"(?:ssn|social(?:\s+security(?:\s+(?:number|no\.?|#))?)?)"
_OPTION = r"(?:(?:-u|--user)[ =][\"']?[\w.@-]+:|sshpass -p ?|docker login\b[^\n]{0,80}? -p )"
_CARD_NAMES = "(?:card|kart|carte|tarjeta|carta|cartão|kaart|карт|カード|卡|카드|maestro|visa)"

# A name, at most a few short words, a sign or a verb of being, a value.
_SIGN = "(?::?=|[=-]>|[:>]|：|→|—|–|是|为|為|は|는|은|คือ)"
_BEING = (
    r"(?:is(?:\s+set\s+to)?|was|are|reads|ist|war|lautet|heißt|est|es|era|é|è|je|jest|er|är|este|это|є|είναι|היא|הוא|هي|هو"
    "|है|là|adalah|(?:it|c)(?:'|’)(?:s|est))"
)
_WORD = r"(?:\s+[^\s\d:=.!?;,\"<>|/\[]{1,20},?)"
_AS = rf"(?:{_BEING}|as|als|comme|como|come|как)"
_FILLER = r"(?:\s+(?:still|now|just|currently|jetzt|ahora|the|le|la|el|die|der|das|il|o))?"
_LINK = (
    rf"[\"'`]?(?:{_WORD}{{0,7}}?(?:[ \t]*{_SIGN}[ \t]*|\s+-\s+|\s+{_BEING}{_FILLER}:?\s+)"
    r"|(?:'|’)s\s+)"
)
_NAMED_PASSWORD = rf"{PASSWORD_NAMES}[A-Za-z\x80-\xff]{{0,6}}"
_UNUSUAL_WORD = r"([A-Za-z\x80-\xff']*[\d!@#$%^&*?_+.-]\S{0,100})"
_DIGITS = r"[*#]?\d(?:[ -]?\d){2,7}"
_KEYPAD = rf"(?:{_DIGITS}|(?-i:[A-Z]{{0,3}}\d[\dA-Z]{{2,7}}))"

# fmt: off
FORMS = (
    _key("ANTHROPIC_API_KEY", r"sk-ant-[A-Za-z0-9_-]{4,}"),
    _key("OPENROUTER_API_KEY", r"sk-or-[A-Za-z0-9_-]{4,}"),
    _key("OPENAI_API_KEY", r"sk-[A-Za-z0-9_-]{6,}"),
    _key("GEMINI_API_KEY or GOOGLE_API_KEY", r"AIza[A-Za-z0-9_-]{6,}|AQ\.[A-Za-z0-9_-]{20,}"),
    _key("GROQ_API_KEY", r"gsk_[A-Za-z0-9_]{8,}"),
    _key("XAI_API_KEY", r"xai-[A-Za-z0-9_]{16,}"),
    _key("HUGGINGFACE_API_KEY", r"hf_[A-Za-z0-9]{16,}"),
    _key("AWS_ACCESS_KEY_ID", r"(?:AKIA|ASIA)[A-Z0-9]{12,}"),
    _key("Google", r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}"),
    _key("Stripe, Razorpay", r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|rzp_(?:live|test)_[A-Za-z0-9]{10,}"),
    _key("GitHub", r"gh[pousr]_[A-Za-z0-9_]{16,}|github_pat_[A-Za-z0-9_]{16,}"),
    _key("GitLab", r"gl(?:pat|[dfipr]t|[cp]bt|ptt|soat|agent|imt|oas|rt|ffct)-[A-Za-z0-9_-]{16,}"),
    _key("Slack", r"xox[a-z]-[A-Za-z0-9-]{10,}|https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    _key("Discord", r"https://(?:\w{3,6}\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}"),
    _key("bots", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}|\d{8,10}:AA[A-Za-z0-9_-]{30,}"),
    _key("mail", r"SG\.[\w-]{16,}\.[\w-]{16,}|key-[a-z0-9]{32,}|[a-f0-9]{32}-us\d+|xkeysib-[a-f0-9-]{40,}"),
    _key("shops", r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{20,}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}"),
    _key("payment", r"access_token\$production\$[a-z0-9$]{40,}|amzn\.mws\.[a-f0-9-]{32,}"),
    _key("telephony, data", r"(?:AC|SK)[a-f0-9]{32,}|dapi[a-f0-9]{32,}|do[opr]_v1_[a-f0-9]{32,}|sbp_[a-f0-9]{32,}"),
    _key("packages", r"npm_[A-Za-z0-9]{30,}|pypi-[\w-]{32,}|rubygems_[a-f0-9]{32,}|dckr_pat_[\w-]{20,}"),
    _key("HashiCorp", r"hv[sb]\.[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{40,}"),
    _key("webhooks", r"whsec_[A-Za-z0-9+/=]{20,}|lin_api_[A-Za-z0-9]{30,}|figd_[A-Za-z0-9_-]{30,}"),
    _key("notes", r"secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{40,}|ATATT3[A-Za-z0-9_=-]{40,}"),
    _key("models", r"r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{40,}|lsv2_(?:pt|sk)_[a-f0-9_]{32,}"),
    _key("operations", r"PMAK-[a-f0-9-]{40,}|gl(?:sa|c)_[\w=+/-]{30,}|sntrys_[\w+/=]{30,}|NRAK-[A-Z0-9]{24,}"),
    _key("customers", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}|pat-[a-z]{2}\d-[a-f0-9-]{30,}|EAA[A-Za-z0-9]{40,}"),
    _key("Azure, age", r"(?:AccountKey=|sig=)[A-Za-z0-9%+/=]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _key("hash of a password", r"\$(?:apr1|[1256y]|2[abxy]|argon2id?)\$[A-Za-z0-9./$=,+]{20,}"),
    _key("JSON web token", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    Form("private key", KEY, PRIVATE_KEY, "all"),
    Form("header", KEY, r"(?i)\b(?:bearer|apikey|authorization: basic)\s+([A-Za-z0-9._~+/=-]{16,})", "group"),
    Form("random token", KEY, r"(?:^|[^\w+=-])([A-Za-z0-9_+=-]{24,})", "group", checks.is_random),
    Form("AWS secret", KEY, r"(?:^|[^\w/+.:=-])([A-Za-z0-9/+]{40})(?:$|[^\w/+=-])", "group", checks.is_random),
    Form("named key", KEY, rf"(?i){_KEY_NAMES}(?:{_LINK}|\s+)", "next", checks.is_named_key),
    Form("key in front", KEY, rf"(?i)(?:^|\s)(\S{{16,200}})\s+{_BEING}{_WORD}{{1,4}}?\s+{_KEY_NAMES}\b", "group",
         checks.is_named_key),
    Form("address", PASSWORD, ADDRESS, "group", checks.is_address_password),
    Form("named password", PASSWORD, rf"(?i){_NAMED_PASSWORD}{_LINK}", "next", checks.is_stated_password),
    Form("quote", PASSWORD, rf"(?i){_NAMED_PASSWORD}\s+(?:[\"']|“|„|«|‘)([^\"'\n]{{3,60}}?)(?:[\"']|”|“|»|’)", "group"),
    Form("short name", PASSWORD, rf"(?i){_SHORT_NAMES}{_LINK}", "next", checks.is_strong_password),
    Form("name without a link", PASSWORD, rf"(?i)(?:{_NAMED_PASSWORD}|{_SHORT_NAMES}){_WORD}{{0,7}}?\s+{_UNUSUAL_WORD}",
         "group", checks.is_strong_password),
    Form("password in front", PASSWORD, rf"(?i)(?:^|\s)(\S{{4,60}})\s+{_AS}{_WORD}{{0,3}}?\s+{PASSWORD_NAMES}", "group",
         checks.is_strong_password),
    Form("login", PASSWORD, rf"(?i)(?:^|[^\w/.@-]){_LOGIN}\s*[:/|]\s*", "next", checks.is_strong_password),
    Form("credentials", PASSWORD, rf"(?i)\b{_LOGIN_NAMES}(?:{_LINK}|\s+)[\w.+@-]{{2,40}}\s*[:/|]\s*", "next",
         checks.is_strong_password),
    Form("argument", PASSWORD, rf"(?:^|\s){_OPTION}[\"']?([^\s\"'$<{{]{{3,}})", "group"),
    Form("named code", CODE, rf"(?i){_CODE_NAMES}(?:{_LINK}|{_WORD}{{0,4}}?\s*)({_DIGITS})", "group", checks.is_pin),
    Form("code", CODE, rf"(?i){_CODE_WORDS}(?:{_LINK}|{_WORD}{{0,3}}?\s+)({_KEYPAD})", "group", checks.is_stated_code),
    Form("code in front", CODE, rf"(?i)(?:^|[\s\"'(-])(\d(?:[ -]?\d){{3,7}})\s+{_AS}{_WORD}{{0,4}}?\s+{_ANY_CODE}\b",
         "group", checks.is_stated_code),
    Form("wallet", SEED_PHRASE, r"(?i)\b[a-z]{3,8}(?:[\s\d.,;)-]{1,5}[a-z]{3,8}){11,}\b", "all", checks.seed_phrase),
    Form("card", ACCOUNT_NUMBER, rf"\b{_CARD}\b", "all", checks.is_card),
    Form("named card", ACCOUNT_NUMBER, rf"(?i){_CARD_NAMES}[^.!?\n\d]{{0,25}}(\d(?:[ .-]?\d){{12,18}})\b", "group",
         checks.is_card),
    Form("IBAN", ACCOUNT_NUMBER, r"(?i)\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}\b", "all", checks.is_iban),
    Form("US social security number", ACCOUNT_NUMBER, r"\b\d{3}-\d\d-\d{4}\b", "all", checks.is_ssn),
    Form("named SSN", ACCOUNT_NUMBER, rf"(?i)\b{_SSN_NAMES}(?:{_LINK}|\s+)(\d{{3}}[ -]?\d\d[ -]?\d{{4}})\b", "group",
         checks.is_ssn),
)
# fmt: on
"""Overlapping credentials are of the kind that begins first."""

KEY_FORMS = tuple(form for form in FORMS if form.check is checks.is_key)
