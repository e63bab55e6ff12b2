"""Recognises credentials by their form, whatever the talk is about."""

from __future__ import annotations

import math
import re
from collections import Counter

_VENDOR_TOKEN = re.compile(
    r"""(?x)
      (?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,}                       # model vendors
      | [srp]k_(?:live|test)_[A-Za-z0-9]{10,}       # payments
      | AIza[A-Za-z0-9_-]{30,}                      # Google
      | ya29\.[A-Za-z0-9_-]{20,}
      | gh[pousr]_[A-Za-z0-9]{20,}                  # code hosting
      | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,}
      | xox[a-z]-[A-Za-z0-9-]{10,}                  # chat
      | (?:AKIA|ASIA)[A-Z0-9]{16}                   # cloud
      | hf_[A-Za-z0-9]{20,}
      | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
      | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*   # JSON web token
      )
    | -----BEGIN\ [A-Z0-9 ]+-----                   # PEM
    | \b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]+:[^\s/@]+@     # password inside an address
    """
)

_PASSWORD = r"(?:pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contrase[nñ]a|mot\s+de\s+passe|senha|wachtwoord|пароль|סיסמה|סיסמא|密码|密碼|パスワード)"  # noqa: E501 - one list
_COPULA = r"(?:is|was|ist|es|est|é|это|היא)"

_ASSIGNED_SECRET = re.compile(
    rf"""(?xi)
      (?<![^\W_]){_PASSWORD}\s*[:=\uff1a]\s*\S{{3,}}                              # password: hunter2
    | \b(?:pin|cvv|cvc)(?:\s+(?:code|number))?\s*(?:[:=]|\bis\b)\s*\d{{3,8}}\b
    | \b(?:secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|bearer)\b\s*(?:[:=]|\bis\b)?\s*
      ["'`]?(?=[A-Za-z0-9_.+/=-]*\d)(?=[A-Za-z0-9_.+/=-]*[A-Za-z])[A-Za-z0-9_.+/=-]{{8,}}
    """
)

# "the password for the router is swordfish", also "passwords"
_STATED_PASSWORD = re.compile(
    rf"(?i)(?<![^\W_]){_PASSWORD}(?:\s+(?:for|to|of|at|on|für|para|pour)\b[^.!?\n]{{1,60}}?)?(?:\s+{_COPULA}\s+|\s*是\s*)(?P<value>\S+)(?P<rest>[^\n]*)"
)

_QUOTES = "\"'`“”„«»"

_TOKEN = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")

_MIN_ENTROPY_BITS = 3.7

_MIN_TOKEN_CHARACTERS = 15
"""Characters without a space between them that the shortest of the issued forms and of the random tokens has."""

_SECRET_HINTS = (
    *("pass", "pwd", "kennwort", "contrase", "mot", "senha", "wachtwoord", "pin", "cvv", "cvc"),
    *("secret", "token", "api", "access", "private", "bearer"),
)
"""One of these stands in every text of ASCII that tells a password or assigns a secret."""


def contains_credential(text: str) -> bool:
    """Return whether `text` holds something of the form of a password, key or token.

    Known vendors' prefixes, PEM blocks, JSON web tokens, long tokens that look random, and a value given as a
    password (`password: …`, "my password is …"). Talk about passwords without a value passes.
    """
    if _may_name_secret(text) and (_ASSIGNED_SECRET.search(text) or _states_password(text)):
        return True
    if not _may_contain_token(text):
        return False
    return bool(_VENDOR_TOKEN.search(text)) or any(_looks_random(token) for token in _TOKEN.findall(text))


def _may_name_secret(text: str) -> bool:
    """Say whether a text may name a secret: most name none, and the patterns take ten times as long to say so."""
    # Beyond ASCII a letter may stand for another one where case does not count.
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(hint in lowered for hint in _SECRET_HINTS)


def _may_contain_token(text: str) -> bool:
    """Say whether a text is written in pieces as long as a token, or holds an address or a PEM block."""
    return max(map(len, text.split()), default=0) >= _MIN_TOKEN_CHARACTERS or "://" in text or "-----BEGIN" in text


def _states_password(text: str) -> bool:
    for match in _STATED_PASSWORD.finditer(text):
        value = match["value"].strip(_QUOTES + ",;.!?")
        is_quoted = match["value"][0] in _QUOTES
        is_value_last = not re.search(r"\w", re.split(r"[.!?,;]", match["rest"], maxsplit=1)[0])
        is_plain_word = value.isalpha() and value.islower()
        if len(value) >= 3 and (is_quoted or is_value_last or not is_plain_word):
            return True
    return False


def _looks_random(token: str) -> bool:
    if _HEX.fullmatch(token):
        return len(set(token)) >= 8
    digits = sum(character.isdigit() for character in token)
    is_mixed_case = any(character.islower() for character in token) and any(character.isupper() for character in token)
    return is_mixed_case and digits >= 2 and _entropy(token) >= _MIN_ENTROPY_BITS


def _entropy(token: str) -> float:
    counts = Counter(token).values()
    return -sum(count / len(token) * math.log2(count / len(token)) for count in counts)
