"""Statements that say what was wrong: "My dog is called Rex, not Max"."""

from __future__ import annotations

import re
from typing import NamedTuple

_CONTRAST = re.compile(
    r"(?P<right>.+), (?:(?:and|und|et|y) )?(?:not|nicht|(?:non )?pas|no) (?P<wrong>[^\W_]+(?:[ '-][^\W_]+){0,2})\W*\Z"
)
_ADDED_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)")
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_OWNERS = frozenset(("my", "our", "user's"))
_MIN_SHARED_WORDS, _MAX_RIGHT_WORDS = 2, 4


class Contrast(NamedTuple):
    """A statement, and the words that its last ones take the place of."""

    right: str
    wrong: str


def find_contrast(text: str) -> Contrast | None:
    """Return "My dog is called Rex" and "Max" for "My dog is called Rex, not Max"; None for any other statement."""
    found = _CONTRAST.match(text)
    return Contrast(found["right"], found["wrong"]) if found else None


def says_is_wrong(text: str, earlier: str) -> bool:
    """Return whether a statement repeats an earlier one and says that its last words are wrong.

    "My sister lives in Ulm, not Bonn" does so for "My sister lives in Bonn", but not for "My sister works in Bonn".
    """
    contrast = find_contrast(text)
    if contrast is None:
        return False
    right, wrong, said = (_words(each) for each in (contrast.right, contrast.wrong, _ADDED_DATE.sub("", earlier)))
    shared = len(said) - len(wrong)
    is_repeated = said[shared:] == wrong and right[:shared] == said[:shared]
    return shared >= _MIN_SHARED_WORDS and is_repeated and 0 < len(right) - shared <= _MAX_RIGHT_WORDS


def _words(text: str) -> list[str]:
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    return ["my" if word in _OWNERS else word for word in words]
