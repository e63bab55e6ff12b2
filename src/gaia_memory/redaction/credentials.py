"""Recognizes credentials by their form, whatever the conversation is about."""

from __future__ import annotations

import math
import re
from collections import Counter

from gaia_memory.redaction.secret_forms import PASSWORD_WORDS, compile_key_forms, has_url_password

_KEY_PATTERN = compile_key_forms(in_facts=True)
_PEM_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")

_COPULA = r"(?:is|was|ist|es|est|é|это|היא)"

_ASSIGNED_SECRET = re.compile(
    rf"""(?xi)
      (?<![^\W_]){PASSWORD_WORDS}\s*[:=\uff1a]\s*\S{{3,}}                              # password: hunter2
    | \b(?:pin|cvv|cvc)(?:\s+(?:code|number))?\s*(?:[:=]|\bis\b)\s*\d{{3,8}}\b
    | \b(?:secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key|bearer)\b\s*(?:[:=]|\bis\b)?\s*
      ["'`]?(?=[A-Za-z0-9_.+/=-]*\d)(?=[A-Za-z0-9_.+/=-]*[A-Za-z])[A-Za-z0-9_.+/=-]{{8,}}
    """
)

# "the password for the router is swordfish", also "passwords"
_STATED_PASSWORD = re.compile(
    rf"(?i)(?<![^\W_]){PASSWORD_WORDS}(?:\s+(?:for|to|of|at|on|für|para|pour)\b[^.!?\n]{{1,60}}?)?(?:\s+{_COPULA}\s+|\s*是\s*)(?P<value>\S+)(?P<rest>[^\n]*)"
)

_QUOTES = "\"'`“”„«»"

_TOKEN = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")

_MIN_ENTROPY_BITS = 3.7


def contains_credential(text: str) -> bool:
    """Return whether `text` contains something with the form of a password, key or token.

    These are vendors' prefixes, PEM blocks, JSON web tokens, long tokens that look random, and stated passwords
    (`password: …`, "my password is …"). A text about passwords without a value passes.
    """
    patterns = (_ASSIGNED_SECRET, _PEM_BLOCK, _KEY_PATTERN)
    return (
        any(pattern.search(text) for pattern in patterns)
        or _states_password(text)
        or has_url_password(text)
        or any(_looks_random(token) for token in _TOKEN.findall(text))
    )


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
