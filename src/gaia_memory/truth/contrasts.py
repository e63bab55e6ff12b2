"""Statements that say what was wrong: "My dog is called Rex, not Max"."""

from __future__ import annotations

import re
from typing import NamedTuple

from gaia_memory.language.stop_words import STOP_WORDS

_CONTRAST = re.compile(
    r"(?P<right>.+), (?:(?:and|und|et|y) )?(?:not|nicht|(?:non )?pas|no) (?P<wrong>[^\W_]+(?:[ '-][^\W_]+){0,2})\W*\Z"
)
_ADDED_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_USERS = frozenset(("i", "we", "user", "my", "our", "user's"))
_OWNER = "my"
_MIN_SHARED_WORDS, _MAX_ADDED_WORDS = 2, 4


class Contrast(NamedTuple):
    """A statement, and the words that its last ones take the place of."""

    right: str
    wrong: str


def find_contrast(text: str) -> Contrast | None:
    """Return "My dog is called Rex" and "Max" for "My dog is called Rex, not Max"; None for any other statement.

    Dates that learning has added are left out.
    """
    found = _CONTRAST.match(_ADDED_DATE.sub("", text))
    return Contrast(found["right"], found["wrong"]) if found else None


def says_is_wrong(text: str, earlier: str) -> bool:
    """Return whether a statement repeats what an earlier one says of the same owner, and that a word of it is wrong.

    "My sister lives in Ulm, not Bonn" does so for "My sister lives in Bonn", but not for "My sister works in Bonn".
    """
    contrast = find_contrast(text)
    if contrast is None:
        return False
    right, wrong, said = (_words(each) for each in (contrast.right, contrast.wrong, _ADDED_DATE.sub("", earlier)))
    repeated = [word for word in said if word not in wrong]
    is_of_same_owner = (right[:1] == [_OWNER]) == (said[:1] == [_OWNER])
    is_repeated = set(wrong) <= set(said) and set(repeated) <= set(right) and is_of_same_owner
    added = [at for at, word in enumerate(right) if word not in repeated]
    # The sister of "My sister's son is called Tom, not Tim" is one more word elsewhere.
    is_one_value = bool(added) and added[-1] - added[0] < len(added) <= _MAX_ADDED_WORDS
    return is_repeated and len(repeated) >= _MIN_SHARED_WORDS and is_one_value


def _words(text: str) -> list[str]:
    """Return the words that tell something, in lower case; those for the user and for what is theirs are one."""
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    words = [_OWNER if word in _USERS else word for word in words]
    return [word for word in words if word not in STOP_WORDS or word in (_OWNER, "not", "no")]
