"""The forms of keys and passwords: one list for facts, configuration and messages."""

# ruff: noqa: RUF001 - quotation marks of all kinds are meant

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class KeyForm(NamedTuple):
    """How the keys of one service look.

    `pattern` ends in the class of the characters that repeat. In configuration and messages
    `min_characters` of them are enough; in a conversation, where a false alarm loses a fact, it takes
    `min_fact_characters`. `variable` is the environment variable that such a key belongs in, empty when there is none.
    """

    pattern: str
    min_characters: int
    min_fact_characters: int
    variable: str = ""


KEY_FORMS = (
    KeyForm(r"sk-ant-[A-Za-z0-9_-]", 4, 12, "ANTHROPIC_API_KEY"),
    KeyForm(r"sk-or-[A-Za-z0-9_-]", 4, 13, "OPENROUTER_API_KEY"),
    KeyForm(r"sk-[A-Za-z0-9_-]", 6, 16, "OPENAI_API_KEY"),
    KeyForm(r"AIza[A-Za-z0-9_-]", 6, 30, "GEMINI_API_KEY or GOOGLE_API_KEY"),
    KeyForm(r"AQ\.[A-Za-z0-9_-]", 20, 20, "GEMINI_API_KEY or GOOGLE_API_KEY"),
    KeyForm(r"gsk_[A-Za-z0-9_]", 8, 20, "GROQ_API_KEY"),
    KeyForm(r"xai-[A-Za-z0-9_]", 16, 20, "XAI_API_KEY"),
    KeyForm(r"hf_[A-Za-z0-9]", 16, 20, "HUGGINGFACE_API_KEY"),
    KeyForm(r"(?:AKIA|ASIA)[A-Z0-9]", 12, 16, "AWS_ACCESS_KEY_ID"),
    KeyForm(r"ya29\.[A-Za-z0-9_-]", 20, 20),
    KeyForm(r"[srp]k_(?:live|test)_[A-Za-z0-9]", 10, 10),
    KeyForm(r"gh[pousr]_[A-Za-z0-9_]", 16, 20),
    KeyForm(r"github_pat_[A-Za-z0-9_]", 16, 20),
    KeyForm(r"gl(?:pat|[dfipr]t|[cp]bt|ptt|soat|agent|imt|oas|rt|ffct)-[A-Za-z0-9_-]", 16, 16),
    KeyForm(r"xox[a-z]-[A-Za-z0-9-]", 10, 10),
    KeyForm(r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]", 16, 16),
    KeyForm(r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]", 20, 20),
    KeyForm(r"do[opr]_v1_[a-f0-9]", 32, 32),
    KeyForm(r"key-[a-z0-9]", 32, 32),
    KeyForm(r"(?:AC|SK)[a-f0-9]", 32, 32),
    KeyForm(r"npm_[A-Za-z0-9]", 30, 30),
    KeyForm(r"pypi-[A-Za-z0-9_-]", 32, 32),
    KeyForm(r"rubygems_[a-f0-9]", 32, 32),
    KeyForm(r"\d{8,10}:AA[A-Za-z0-9_-]", 30, 30),
    KeyForm(r"https://hooks\.slack\.com/services/[A-Za-z0-9/]", 20, 20),
    KeyForm(r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]", 30, 30),
    KeyForm(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]", 27, 27),
    KeyForm(r"hv[sb]\.[A-Za-z0-9_-]", 20, 20),
    KeyForm(r"dapi[a-f0-9]", 32, 32),
    KeyForm(r"GOCSPX-[A-Za-z0-9_-]", 20, 20),
    KeyForm(r"1//0[A-Za-z0-9_-]", 30, 30),
    KeyForm(r"lin_api_[A-Za-z0-9]", 30, 30),
    KeyForm(r"dckr_pat_[A-Za-z0-9_-]", 20, 20),
    KeyForm(r"whsec_[A-Za-z0-9+/=]", 20, 20),
    KeyForm(r"sbp_[a-f0-9]", 32, 32),
    KeyForm(r"sq0[a-z]{3}-[A-Za-z0-9_-]", 20, 20),
    KeyForm(r"r8_[A-Za-z0-9]", 30, 30),
    KeyForm(r"pplx-[A-Za-z0-9]", 30, 30),
    KeyForm(r"nvapi-[A-Za-z0-9_-]", 40, 40),
    KeyForm(r"PMAK-[a-f0-9-]", 40, 40),
    KeyForm(r"gl(?:sa|c)_[A-Za-z0-9_=+/-]", 30, 30),
    KeyForm(r"pat[A-Za-z0-9]{14}\.[a-f0-9]", 32, 32),
    KeyForm(r"[a-f0-9]{32}-us\d", 1, 1),
    KeyForm(r"xkeysib-[a-f0-9-]", 40, 40),
    KeyForm(r"sntrys_[A-Za-z0-9+/=_]", 30, 30),
    KeyForm(r"EAA[A-Za-z0-9]", 40, 40),
    KeyForm(r"NRAK-[A-Z0-9]", 24, 24),
    KeyForm(r"lsv2_(?:pt|sk)_[a-f0-9_]", 32, 32),
    KeyForm(r"amzn\.mws\.[a-f0-9-]", 32, 32),
    KeyForm(r"pat-[a-z]{2}\d-[a-f0-9-]", 30, 30),
    KeyForm(r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]", 40, 40),
    KeyForm(r"secret_[A-Za-z0-9]", 40, 40),
    KeyForm(r"ntn_[A-Za-z0-9]", 40, 40),
    KeyForm(r"figd_[A-Za-z0-9_-]", 30, 30),
    KeyForm(r"ATATT3[A-Za-z0-9_=-]", 40, 40),
    KeyForm(r"AGE-SECRET-KEY-1[A-Z0-9]", 40, 40),
    KeyForm(r"rzp_(?:live|test)_[A-Za-z0-9]", 10, 10),
    KeyForm(r"access_token\$production\$[a-z0-9$]", 40, 40),
    KeyForm(r"\$(?:apr1|[1256y]|2[abxy]|argon2id?)\$[A-Za-z0-9./$=,+]", 20, 20),
    KeyForm(r"AccountKey=[A-Za-z0-9+/=]", 40, 40),
    KeyForm(r"sig=[A-Za-z0-9%+/=]", 40, 40),
    KeyForm(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]", 0, 0),
)

PASSWORD_WORDS = (
    r"(?:p[a@4][s$5]{1,3}w[o0]r?d|pass(?:wd|phrase|code|wort|ord)|pwd|kennwort|contrase[nñ]a|mot[\s_]+de[\s_]+passe|senha|palavra[-\s_]passe|(?:phrase|frase)\s+(?:secr[èe]te|de\s+passe|segreta|secreta)|geheimwort|losungswort|"
    r"parola\s+(?:d['’]ordine|mea)|parolam|wachtwoord|l[öo]senord|adgangskode|kodeord|salasana|has[łl]o|heslo|jelsz[óa]v?|"
    r"[şs]ifre|парол[ьяюе]|парола|κωδικ[όο]ς|ה?סיסמ[האת]|كلمة\s+(?:ال)?(?:سر|مرور)|رمز\s+عبور|पासवर्ड|パスワード|비밀번호|비번|پسورد|گذرواژه|"
    r"পাসওয়ার্ড|கடவுச்சொல்|პაროლი|գաղտնաբառ|پاس\s?ورڈ|slaptažodis|lykilorð|contrasenya|nenosiri|"
    r"m[ậa]t\s+kh[ẩa]u|รหัสผ่าน|kata[\s_]+sandi|密码|密碼|口令)"
)

URL_PASSWORD = re.compile(
    r"(?P<before>\b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://[^:/@\s]{0,200}:)(?P<secret>[^@\s]{1,500})@"
)

PEM_BLOCK = re.compile(
    r"-----BEGIN (?!(?:[A-Z0-9 ]* )?(?:PUBLIC KEY|CERTIFICATE))[A-Z0-9 ]+-----|PuTTY-User-Key-File-\d.*", re.DOTALL
)

_PRIVATE_KEY_BLOCK = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"


def compile_key_forms(*, in_facts: bool) -> re.Pattern[str]:
    """Return a pattern that matches any key, and the whole PEM block of a private key."""
    forms = (
        f"{form.pattern}{{{form.min_fact_characters if in_facts else form.min_characters},}}" for form in KEY_FORMS
    )
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(forms)}|{_PRIVATE_KEY_BLOCK})", re.DOTALL)


def compile_split_key_forms() -> re.Pattern[str]:
    """Return a pattern that matches the beginning of a key, and what may be the rest of it behind blanks."""
    beginnings = "|".join(rf"{form.pattern}*" for form in KEY_FORMS)
    return re.compile(rf"(?<![A-Za-z0-9])(?P<head>{beginnings})(?P<rest>(?: [A-Za-z0-9_.-]+)+)")


def variable_for_key(value: str) -> str:
    """Return the environment variable that a key belongs in; empty when its form does not tell."""
    return next(
        (form.variable for form in KEY_FORMS if re.match(f"{form.pattern}{{{form.min_characters},}}", value)), ""
    )


def find_url_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Yield where an address in `text` contains a password.

    `http://host:8000/models/name@001` has none: the colon is followed by a port.
    """
    for found in URL_PASSWORD.finditer(text):
        if not (found["scheme"].startswith("http") and re.match(r"\d+/", found["secret"])):
            yield found.span("secret")


def has_url_password(text: str) -> bool:
    """Return whether an address in `text` contains a password."""
    return any(True for _ in find_url_passwords(text))
