"""The numbered list of facts that commands show and take numbers of, and the words that pick rows of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from gaia_memory.models import Fact
from gaia_memory.models.text import is_invisible

PAGE = 20
"""Facts a page: what a chat message still shows at a glance."""

_MOST_DIGITS = 9
_WRITTEN = frozenset("LNM")
"""Unicode's categories of letters, digits and the marks on them: what words are made of."""


@dataclass(frozen=True, slots=True)
class Row:
    """A fact and its number: its place, from 1, among all that is remembered of a person, oldest first."""

    number: int
    fact: Fact

    @property
    def line(self) -> str:
        """The row as it is shown in the whole list, on one line."""
        return f"{self.number}. {' '.join(self.fact.text.split())}"

    @property
    def picked(self) -> str:
        """The row as it is shown among rows that do not follow each other.

        Markdown, which `adk web` renders, would number bare ones anew.
        """
        return f"- {self.line}"


def numbered(facts: Sequence[Fact]) -> list[Row]:
    """Return every fact with its number."""
    return [Row(number, fact) for number, fact in enumerate(facts, start=1)]


def words_in(text: str) -> list[str]:
    """Return the different words of a text as they are compared: case, forms of a letter and what is unseen aside."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", text) if not is_invisible(char))
    folded = unicodedata.normalize("NFKC", seen.casefold())
    parted = "".join(char if unicodedata.category(char)[0] in _WRITTEN else " " for char in folded)
    return list(dict.fromkeys(parted.split()))


def numbers_in(words: Sequence[str]) -> list[int] | None:
    """Return the numbers that words are when all of them are; None where one is not, or there is none."""
    if not words or not all(word.isdecimal() for word in words):
        return None
    # No list is that long, and Python refuses to read thousands of digits.
    return [int(word[: _MOST_DIGITS + 1]) for word in words]


def holding(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows whose facts hold every one of the words.

    A word of a script without capitals, of which many write words together or particles onto them, also counts
    inside another word.
    """
    return [row for row in rows if _holds(words_in(row.fact.text), words)]


def counted(facts: int) -> str:
    """Return how many facts these are, in words."""
    return "1 fact" if facts == 1 else f"{facts} facts"


def _holds(there: Sequence[str], words: Sequence[str]) -> bool:
    return all(word in there or (_is_joined(word) and any(word in other for other in there)) for word in words)


def _is_joined(word: str) -> bool:
    return any(unicodedata.category(char) == "Lo" for char in word)
