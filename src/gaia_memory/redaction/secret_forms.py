"""The forms of keys and passwords: one list for facts, configuration and messages."""

from __future__ import annotations

import re
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
    KeyForm(r"glpat-[A-Za-z0-9_-]", 16, 16),
    KeyForm(r"xox[a-z]-[A-Za-z0-9-]", 10, 10),
    KeyForm(r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]", 16, 16),
    KeyForm(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]", 0, 0),
)

PASSWORD_WORDS = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contrase[nñ]a|mot\s+de\s+passe|senha|wachtwoord|"
    r"пароль|סיסמה|סיסמא|密码|密碼|パスワード)"
)

URL_PASSWORD = re.compile(
    r"(?P<before>\b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://[^:/@\s]{0,200}:)(?P<secret>[^@\s]{1,500})@"
)

_PEM_BLOCK = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"


def compile_key_forms(*, in_facts: bool) -> re.Pattern[str]:
    """Return a pattern that matches any key, and the whole PEM block of a private key."""
    forms = (
        f"{form.pattern}{{{form.min_fact_characters if in_facts else form.min_characters},}}" for form in KEY_FORMS
    )
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(forms)}|{_PEM_BLOCK})", re.DOTALL)


def variable_for_key(value: str) -> str:
    """Return the environment variable that a key belongs in; empty when its form does not tell."""
    return next(
        (form.variable for form in KEY_FORMS if re.match(f"{form.pattern}{{{form.min_characters},}}", value)), ""
    )


def has_url_password(text: str) -> bool:
    """Return whether an address in `text` contains a password.

    `http://host:8000/models/name@001` has none: the colon is followed by a port.
    """
    return any(
        not (found["scheme"].startswith("http") and re.match(r"\d+/", found["secret"]))
        for found in URL_PASSWORD.finditer(text)
    )
