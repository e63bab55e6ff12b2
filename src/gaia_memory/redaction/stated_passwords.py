"""Recognizes passwords and keys that a text names: "password: …", "my password is …", "client_secret = …"."""

# ruff: noqa: RUF001 - quotation marks and dashes of all kinds are meant

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from gaia_memory.language.distinctive_words import is_common_word
from gaia_memory.language.function_words import FUNCTION_WORDS
from gaia_memory.language.stop_words import STOP_WORDS
from gaia_memory.redaction.random_tokens import DIGIT_CHANGE
from gaia_memory.redaction.secret_forms import PASSWORD_WORDS

COPULA = (
    # "to" and "on" are verbs in Polish, Czech and Finnish only: "I gave my password to Anna".
    r"(?:is|was|are|reads|equals|(?:ends|turned?s?|winds)\s+(?:up|out)\s+(?:being|to\s+be)|happens\s+to\s+be|remains|stays|"
    r"bleibt|reste|sigue\s+siendo|resta|rimane|continua(?:\s+sendo)?|it['’]s|ist|war|lautet|heißt|es|era|est|c['’]est|é|è|"
    r"(?:(?<=has[łl]o )|(?<=heslo ))to|je|jest|"
    r"er|är|(?:(?<=salasana )|(?<=salasanani ))on|este|olarak|adalah|"
    r"это|є|е|είναι|היא|הוא|هي|هو|है|là)"
)
"""Verbs that give something a value."""

SIGN = r"(?::=|=>|->|[:=\uff1a→—–])"

_PREPOSITION = (
    r"(?:for|to|of|at|on|in|from|für|fürs|im|vom?|von|zum|zur|des|der|del|de|du|da|do|para|pour|dello|della|van|voor|til|till|"
    r"для|от|к|של\S*|ל\S*|من|meiner?|mio|mia|meu|mea|mitt|mi|min|saya|μου|من|tôi|ми|wifi)"
)
_NAME = (
    rf"(?:(?<![^\W_]){PASSWORD_WORDS}|(?<=\w)(?:password|passwort|kennwort|wachtwoord|密码|密碼|口令|パスワード|비밀번호))"
    r"\w{0,5}[\"'`]?"
)
_PASSWORD_NAME = re.compile(rf"(?i){_NAME}")
# "password for the router is …", "Gmail password: …", "パスワードは…"; a name needs a preposition or a strong value.
_NAMED_PASSWORD = re.compile(
    rf"(?i){_NAME}(?:\s+(?:{_PREPOSITION}\b|(?P<name>(?=[^\W_])))[^.!?\n:=]{{0,60}}?)?,?"
    rf"(?:\s*{SIGN}\s*|\s+(?:(?:is|was|got)\s+)?(?:changed|set|reset|updated)\s+to\s+"
    rf"|\s+{COPULA}(?:\s+(?:still|now|just|currently|jetzt|ahora))?\s+|\s*(?:是|为|為|は|는|은|คือ)\s*(?=[\x00-\x7f“”「『])(?!\d+\s*[位桁文字자]))"
    rf"(?=(?P<value>\S[^\n]{{0,300}}))"
)
# "voicemail password 6142"; not "password 2024"
_BARE_DIGITS = re.compile(rf"(?i){_NAME}\s+(?P<value>(?!(?:19|20)\d\d\b)\d{{4,}})(?=[.,;!]?(?:\s|$))(?!\s+[^\W\d_])")
# "He uses 'Otter5521' as his password"
_AS_PASSWORD = re.compile(
    rf"(?i)(?<!\S)[\"'“„«]?(?P<value>[^\s\"'”“»]{{6,40}})[\"'”“»]?\s+(?:as|als|comme|como|come|как)\s+(?:[^\W\d_]+\s+){{0,2}}?{_NAME}"
)
# "password is h u n t e r 2", "My password spells t-r-o-u-b-a-d-o-r"
_SPELLED_PASSWORD = re.compile(
    rf"(?i){_NAME}(?:\s+[^\s.!?]{{2,20}}){{0,4}}?[\s:=]+(?P<value>\w(?P<gap>[ .-])(?:\w(?P=gap)){{3,}}\w)(?!\S)"
)
# "<password>plum99</password>"
_ELEMENT = re.compile(
    r"(?i)<(?P<tag>[\w:-]*(?:passw\w*|pwd|secret|token|api-?key))>\s*(?P<value>[^\s<]{4,})\s*</(?P=tag)>"
)
# "the key to my vault is Falcon51!"
_KEY_TO = re.compile(
    rf"(?i)\b(?:key|schlüssel|cl[ée]|clave|chiave|chave)\s+(?:to|for|{_PREPOSITION})\s[^.!?\n:=]{{1,40}}?\s+{COPULA}\s+(?P<value>\S+)"
)
# "zdurf9zw9hy44 is the nuget key"
_KEY_BEHIND = re.compile(
    rf"(?i)(?<!\S)(?P<value>(?=\S*\d)(?=\S*[a-z])[\w.+/=-]{{16,}})\s+{COPULA}\s+(?:[^\W\d_][\w'’-]*\s+){{1,4}}?"
    r"(?:key|token|secret|schlüssel|cl[ée]|clave|chiave|chave)\b"
)
# "the openweather key is dc23f28709f0…"; what a database or a cache calls a key is no secret.
_KEY_OF = re.compile(
    r"(?i)(?<!\w)(?!(?:the|an?|this|that|whose|public|primary|foreign|partition|shard|sort|row|index|hash|lookup|cache|storage"
    r"|object|file|s3|idempotency|dedup\w*|routing|registry|map|host|gpg|pgp)\b)[^\W\d_][\w'’-]{0,30}"
    rf"\s+key(?:\s+{COPULA}\s+|\s*{SIGN}\s*)(?P<value>(?=\S*\d)(?=\S*[a-z])[\w.+/=-]{{16,}})"
)
# "wlan key 4821-0077-1933-4455"
_WIFI_KEY = re.compile(
    rf"(?i)(?<!\w)(?:(?:wi-?fi|wlan)[ -]*(?:key|schlüssel|code|sleutel)|"
    rf"(?:code|cl[ée]|clave|chiave|chave)\s+(?:\w+\s+){{0,2}}?(?:wi-?fi|wlan))"
    rf"(?:\s*{SIGN}\s*|\s+(?:{COPULA}\s+)?)(?P<value>(?=\S*\d)[\w-]{{8,}})"
)
# "wifi password hunter2"
_BARE_PASSWORD = re.compile(
    rf"(?i){_NAME}(?:['’]s)?(?:\s+{_PREPOSITION}\b(?:\s+[^\s.!?:=]{{1,30}}){{0,3}}?)?\s+(?:-\s+)?(?P<value>(?=\S*[\d!@#$%^&*?])\S{{6,60}})"
)
_SHORT_NAME = re.compile(
    rf"(?i)(?<!\w)(?:pass|pw|psw|pwd|passwd|mdp|clave)"
    rf"(?:(?:\s+[^.!?\n:=\d]{{1,40}}?)??(?:(?P<sign>\s*{SIGN}\s*|\s+-\s+)|\s+{COPULA}\s+)|(?:\s+del?\s+\w+)?\s+(?:es\s+)?)(?P<value>\S+)"
)
_LOGIN_PAIR = re.compile(
    rf"(?i)\b(?:creds?|credentials|logins?|log-?ins?|zugangsdaten|anmeldedaten|identifiants?|credenciales|credenziali|credenciais)\b"
    rf"[^.!?\n:=/]{{0,40}}?(?:\s+{COPULA}|\s*:)?\s+[\w.+@-]{{2,40}}(?:\s*[:/|]\s*)(?P<value>\S+)"
)
# "Netflix: mara@example.org / Sternenstaub88"
_EMAIL_PAIR = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+\s+[:/|]\s+(?P<value>[^\s@]{8,})(?!\S)")
# "admin:Nimbus!20", "admin / Nimbus20"
_ADMIN_PAIR = re.compile(
    r"(?<![\w/.@-])(?:admin|administrator|root|guest)(?::|\s+[/|]\s+(?=\S++(?!\s+\w)))(?P<value>[^\s:]{6,})"
)
# "jdbc:oracle:thin:scott/t1ger88@//db:1521/orcl"
_ORACLE_PAIR = re.compile(r"(?i)\b(?:jdbc:oracle:\w+:|sqlplus\s+)[\w$#]+/(?P<value>[^\s@]+)@")
_CURL_USER = re.compile(r"""(?<!\S)(?:-u|--user)[ =]["']?[\w.@-]+:(?P<value>[^\s"'$<{]\S{2,})""")
# "sshpass -p 'Nimbus!20' ssh host", "docker login -u ada -p Nimbus20"
_PASSWORD_ARGUMENT = re.compile(
    r"""(?x)\b(?:sshpass|mysql\w*|mariadb\w*|mongo\w*|ldap\w+|smbclient|pscp|plink|login|redis-cli|zip|7z)\s[^\n|;]{0,200}?
    (?<!\S)-(?:p|w|a|P)[ ]?["']?(?P<value>[^\s"'$<{-][^\s"']{3,})"""
)
# "I log in with nuage6874#": a word of letters, digits and signs is a password where people sign in.
_SIGN_IN = re.compile(
    r"(?i)\b(?:log(?:ged|ging|s)?[\s-]?(?:in|on)|sign(?:ed|ing|s)?[\s-]?in|log(?:ge|gt)?\b|einlogg\w*|eingelogg\w*|meld\w*|anmeld\w*"
    r"|connect\w*|acced\w*|inicio\s+sesi[óo]n|entr[oaei]\w*|conect\w*)\b[^.!?\n]{0,40}?\s(?:with|using|mit|avec|con|com)\s"
)
_AUTHORIZATION = re.compile(
    r"(?i)\bauthorization\s*[:=]\s*[\"']?(?:basic|bearer|token|digest|apikey)\s+"
    r"(?P<value>(?-i:[a-z]{16,}|(?=[a-z]*[A-Z0-9=])[A-Za-z0-9._~+/=-]{12,}))"
)
_NAMED_KEY = re.compile(
    r"""(?xi)
    (?:(?<![^\W_])(?:secret|token|bearer|pat|sessionid|mot\s+secret|(?:wi-?fi|wlan|network|netzwerk)\b[^.!?\n:=]{0,40}?\bkey)
      |(?:(?:api|access|private|secret|signing|encryption|license|recovery|backup|rescue|client|auth|session|shared)
        [ _-]?(?:access[ _-]?)?(?:key|secret|token|code)s?(?:_base)?
      |(?P<other>\w{1,40}_(?:key|secret|token))))(?![A-Za-z_])
    ["'`]?(?:\s+(?:for|to|of)\s[^.!?\n:=]{1,40}?)?\s*(?:[:=]|\b(?:is|are|ist|es|est)\b)?\s*
    (?P<value>["'`]?(?!HTTP/)(?=[\w.+/=-]*\d)(?=[\w.+/=-]*[A-Za-z])[A-Za-z0-9_.+/=-]{8,}+(?![\w(\[]))
    """
)

# `API_SECRET='kite&799rM'`: what a name is set to may have signs; not in an address, where `&` ends it.
_SET_KEY = re.compile(
    r"""(?xi)
    (?<![^\W_])(?<![?&\#/])(?:(?:secret|token)
      |(?:api|access|private|secret|signing|encryption|client|auth|shared)[ _-]?(?:key|secret|token))
    ["'`]?\s*[:=]\s*(?P<quote>["'`]?)
    (?P<value>(?=[^\s"'`]*\d)(?=[^\s"'`]*[A-Za-z])(?=[^\s"'`]*[!\#$&*?^~])[\w.+/!\#$&*?^~-]{8,}+)(?P=quote)(?![\w(\[])
    """
)

# Cheap tests before the patterns above: one of these words is in every text that they match.
_PASSWORD_TRIGGER_WORDS = """
pass pasw p@ pa$ w0rd pw psw mdp phrase frase geheimwort losung kennwort contrase clave senha parola wachtwoord
lösenord losenord adgangskode kodeord salasana hasło haslo heslo jelsz şifre sifre парол κωδικ סיסמ كلمة
رمز पासवर्ड パスワード 비밀번호 비번 پسورد گذرواژه khẩu khau รหัสผ่าน sandi 密 口令
পাসওয়ার্ড கடவுச்சொல் პაროლი գաղտնաբառ ورڈ slapta lykilor contrasenya nenosiri
"""
_PASSWORD_TRIGGERS = tuple(_PASSWORD_TRIGGER_WORDS.split())
_WIFI_TRIGGERS = ("wifi", "wi-fi", "wlan")
_LOGIN_TRIGGERS = ("cred", "log", "daten", "ident", "-u", "-p", "authorization")
_SIGN_IN_WORDS = ("with", "using", "mit", "avec", "con", "com")
_KEY_TRIGGERS = ("secret", "token", "bearer", "key", "code", "pat ", "sessionid")
_MIN_DIGIT_CHANGES = 2
_QUOTES = "\"'`“”„«»‘’"
_CLAUSE_END = re.compile(r"[.!?,;)](?:\s|$)|\s[-—–]\s|\n")
# Variables, masks, calls, paths and type annotations in code.
_CODE = re.compile(
    r"""(?x)[\W_]*$ | [<{(\[*•] | \$[{(\dA-Z_] | // | %[\w(] | [\w.]+[(\[] | ~?(?:/[A-Za-z]?[a-z_.-]+){2,}(?!\S)
    | (?:self|this|user|os|process|config|env|settings|args)\.
    | (?i:str|string|bool|bytes|none|null|nil|true|false|raise|return|undefined|text|varchar|n/a|tbd|optional)\b"""
)
_NOT_A_VALUE = frozenset(files("gaia_memory.redaction").joinpath("not_passwords.txt").read_text("utf-8").split())
# "uses Sommer!Regen5 as the password": a word that can hardly be anything else.
_MIXED_WORD = re.compile(
    r"(?<![^\s\"'“„«])(?=[^\s\d]*\d)(?=\S*[^\W\d_])(?=\S*[!#$%^&*?+@_])(?!\$|\S*[@.]\S+\.|\S*://|\S*(?:[()\[\]{}<>=/\\|]|\$[A-Z_]))"
    r"(?P<value>[^\s\"'”“»,;]{8,40}?)(?=[.,;:!?\"'”“»]*(?:\s|$))"
)
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_PARTICIPLE = re.compile(r"(?i).{2,}(?:ed|en|t|[ée]e?s?|us?e?s?|[aiu]t[oa]s?|itt[oa]|[ai]d[oa]s?)")
"""How the words end that say what happened to a password: "est affiché dans la cuisine"."""
_FUNCTION_WORDS = STOP_WORDS.union(
    *FUNCTION_WORDS.values(), ("sul", "sulla", "nel", "nella", "dal", "da", "di", "no", "na", "op", "aan")
)


def find_stated_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the value of a password or key stands that the text names."""
    lower = text.lower()
    if _has_any(lower, _PASSWORD_TRIGGERS):
        yield from _find_passwords(text)
    yield from _find_logins(text, lower)
    yield from _find_pairs(_ADMIN_PAIR, text)
    if _has_any(lower, _WIFI_TRIGGERS):
        yield from (found.span("value") for found in _WIFI_KEY.finditer(text))
    if "@" in lower:
        for pattern in (_EMAIL_PAIR, _ORACLE_PAIR):
            yield from _find_pairs(pattern, text)
    if _has_any(lower, _KEY_TRIGGERS):
        for found in _NAMED_KEY.finditer(text):
            # `sort_key: company-1` is no secret.
            if found["other"] is None or len(DIGIT_CHANGE.findall(found["value"])) >= _MIN_DIGIT_CHANGES:
                yield found.span("value")
        yield from (found.span("value") for found in _SET_KEY.finditer(text) if not found["value"].startswith("$"))
        yield from (found.span("value") for found in _KEY_BEHIND.finditer(text))
        for found in _KEY_OF.finditer(text):
            if len(DIGIT_CHANGE.findall(found["value"])) >= 2 * _MIN_DIGIT_CHANGES:
                yield found.span("value")
        yield from _find_pairs(_KEY_TO, text)


def _find_logins(text: str, lower: str) -> Iterator[tuple[int, int]]:
    if _has_any(lower, _LOGIN_TRIGGERS):
        for pattern in (_CURL_USER, _AUTHORIZATION):
            yield from (found.span("value") for found in pattern.finditer(text))
        for pattern in (_LOGIN_PAIR, _PASSWORD_ARGUMENT):
            yield from _find_pairs(pattern, text)
    if _has_any(lower, _SIGN_IN_WORDS) and _SIGN_IN.search(text):
        yield from (found.span("value") for found in _MIXED_WORD.finditer(text))


def _find_pairs(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    for found in pattern.finditer(text):
        if _is_strong(found["value"].rstrip(",;.")):
            yield found.span("value")


def _has_any(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _find_passwords(text: str) -> Iterator[tuple[int, int]]:
    for found in _NAMED_PASSWORD.finditer(text):
        yield from _password_span(found, text)
    if _PASSWORD_NAME.search(text):
        yield from (found.span("value") for found in _MIXED_WORD.finditer(text))
    yield from (found.span("value") for found in _BARE_DIGITS.finditer(text))
    for pattern in (_SPELLED_PASSWORD, _ELEMENT):
        yield from (found.span("value") for found in pattern.finditer(text))
    yield from _find_pairs(_AS_PASSWORD, text)
    for found in _SHORT_NAME.finditer(text):
        is_of_login = found["sign"] and re.search(r"(?i)\b(?:user(?:name)?|login)\b", text[: found.start()])
        if is_of_login or _is_strong(found["value"].strip(_QUOTES + ",;")):
            yield found.span("value")
    for found in _BARE_PASSWORD.finditer(text):
        value = found["value"].strip(_QUOTES + ",;")
        if _is_strong(value) and not re.search(r"[=(]", value) and value.casefold() not in _NOT_A_VALUE:
            yield found.span("value")


def _password_span(found: re.Match[str], text: str) -> Iterator[tuple[int, int]]:
    clause = found["value"]
    if (end := _CLAUSE_END.search(clause)) is not None and end.start():
        clause = clause[: end.start()]
    words = clause.split()
    value = words[0].strip(_QUOTES + ".,;!?") if words else ""
    is_quoted = clause[:1] in _QUOTES and len(clause) > 3
    start = found.start("value")
    if _CODE.match(clause.lstrip(_QUOTES)) or re.search(PASSWORD_WORDS, value, re.IGNORECASE):
        return
    if found["name"] is not None and not _is_strong(value):
        return
    if is_quoted or (value.casefold() not in _NOT_A_VALUE and len(value) >= 3 and _is_value(value, words[1:])):
        is_phrase = is_quoted or all(map(_PLAIN_WORD.fullmatch, words))
        yield start, start + (len(clause) if is_phrase else len(words[0]))
    elif value.casefold() == "correct" and len(words) > 2 and STOP_WORDS.isdisjoint(map(str.casefold, words)):
        yield start, start + len(clause)


def _is_value(value: str, others: list[str]) -> bool:
    if value.endswith(("'s", "’s")) and others:
        return False
    is_plain = value.isalpha() and value.islower()
    if others and is_common_word(value):
        return False
    if is_plain and others and others[0].casefold() in _FUNCTION_WORDS and _PARTICIPLE.fullmatch(value):
        return False
    return not others or not is_plain or _FUNCTION_WORDS.isdisjoint(map(str.casefold, others))


def _is_strong(value: str) -> bool:
    """Return whether a word is no ordinary one: letters with digits or signs between or behind them."""
    has_digit = any(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    return len(value) >= 6 and letters >= 3 and (has_digit or bool(re.search(r"[!@#$%^&*?]", value[:-1])))
