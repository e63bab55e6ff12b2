"""Recognises credentials by their form, whatever the talk is about."""

from __future__ import annotations

import math
import re
from collections import Counter

_ISSUED = re.compile(
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
_IS = r"(?:is|was|ist|es|est|é|это|היא)"

_ASSIGNED = re.compile(
    rf"""(?xi)
      (?<![^\W_]){_PASSWORD}\s*[:=\uff1a]\s*\S{{3,}}                              # password: hunter2
    | \b(?:pin|cvv|cvc)(?:\s+(?:code|number))?\s*(?:[:=]|\bis\b)\s*\d{{3,8}}\b
    | \b(?:secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|bearer)\b\s*(?:[:=]|\bis\b)?\s*
      ["'`]?(?=[A-Za-z0-9_.+/=-]*\d)(?=[A-Za-z0-9_.+/=-]*[A-Za-z])[A-Za-z0-9_.+/=-]{{8,}}
    """
)

# "the password for the router is swordfish", also "passwords"
_SAID = re.compile(
    rf"(?i)(?<![^\W_]){_PASSWORD}(?:\s+(?:for|to|of|at|on|für|para|pour)\b[^.!?\n]{{1,60}}?)?(?:\s+{_IS}\s+|\s*是\s*)(?P<value>\S+)(?P<rest>[^\n]*)"
)

_QUOTES = "\"'`“”„«»"

_TOKEN = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")

_ENTROPY_BITS = 3.7

_SHORTEST = 15
"""Characters without a space between them that the shortest of the issued forms and of the random tokens has."""

_HINTS = (
    *("pass", "pwd", "kennwort", "contrase", "mot", "senha", "wachtwoord", "pin", "cvv", "cvc"),
    *("secret", "token", "api", "access", "private", "bearer"),
)
"""One of these stands in every text of ASCII that tells a password or assigns a secret."""


def holds_credential(text: str) -> bool:
    """Return whether `text` holds something of the form of a password, key or token.

    Known vendors' prefixes, PEM blocks, JSON web tokens, long tokens that look random, and a value given as a
    password (`password: …`, "my password is …"). Talk about passwords without a value passes.
    """
    if _names_one(text) and (_ASSIGNED.search(text) or _says_a_password(text)):
        return True
    if not _has_room_for_one(text):
        return False
    return bool(_ISSUED.search(text)) or any(_looks_random(token) for token in _TOKEN.findall(text))


def _names_one(text: str) -> bool:
    """Say whether a text may name a secret: most name none, and the patterns take ten times as long to say so."""
    # Beyond ASCII a letter may stand for another one where case does not count.
    if not text.isascii():
        return True
    small = text.lower()
    return any(hint in small for hint in _HINTS)


def _has_room_for_one(text: str) -> bool:
    """Say whether a text is written in pieces as long as a token, or holds an address or a PEM block."""
    return max(map(len, text.split()), default=0) >= _SHORTEST or "://" in text or "-----BEGIN" in text


def _says_a_password(text: str) -> bool:
    for found in _SAID.finditer(text):
        value = found["value"].strip(_QUOTES + ",;.!?")
        quoted = found["value"][0] in _QUOTES
        ends_here = not re.search(r"\w", re.split(r"[.!?,;]", found["rest"], maxsplit=1)[0])
        plain_word = value.isalpha() and value.islower()
        if len(value) >= 3 and (quoted or ends_here or not plain_word):
            return True
    return False


def _looks_random(token: str) -> bool:
    if _HEX.fullmatch(token):
        return len(set(token)) >= 8
    digits = sum(character.isdigit() for character in token)
    mixed = any(character.islower() for character in token) and any(character.isupper() for character in token)
    return mixed and digits >= 2 and _entropy(token) >= _ENTROPY_BITS


def _entropy(token: str) -> float:
    counts = Counter(token).values()
    return -sum(count / len(token) * math.log2(count / len(token)) for count in counts)
