"""The numbered list of facts that commands show and take numbers of, and the words that pick rows of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from gaia_memory.language.printable_text import is_invisible
from gaia_memory.models import Fact

PAGE_SIZE = 20
"""Facts a page: what a chat message still shows at a glance."""

_MAX_DIGITS = 9
_RANGE = re.compile(r"(?<=\d)(?:\s+-\s+|-\s*)(?=\d)")
"""A dash between two numbers; one that stands at a number alone is its sign."""

_WORD_CATEGORIES = frozenset("LNM")
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
    def list_item(self) -> str:
        """The row as it is shown among rows that do not follow each other.

        Markdown, which `adk web` renders, would number bare ones anew.
        """
        return f"- {self.line}"


def number_facts(facts: Sequence[Fact]) -> list[Row]:
    """Return every fact with its number."""
    return [Row(number, fact) for number, fact in enumerate(facts, start=1)]


def split_words(text: str) -> list[str]:
    """Return the different words of a text as they are compared: case, forms of a letter and what is unseen aside."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", text) if not is_invisible(char))
    folded = unicodedata.normalize("NFKC", visible.casefold())
    separated = "".join(char if unicodedata.category(char)[0] in _WORD_CATEGORIES else " " for char in folded)
    return list(dict.fromkeys(separated.split()))


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Rows that somebody names by number: as they were written, and from where to where each goes."""

    text: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def single_number(self) -> int | None:
        """The number, where it is a single one."""
        [(first, last), *further] = self.ranges
        return first if first == last and not further else None


def parse_selection(text: str) -> RowSelection | None:
    """Return the rows that a text names when it is all numbers and ranges such as `3-5`; None where it is words.

    What is no number of a row, such as `-1`, is one below 1.
    """
    plain = unicodedata.normalize("NFKC", "".join(char for char in text if not is_invisible(char)))
    if any(unicodedata.category(char)[0] in _WORD_CATEGORIES and not char.isdecimal() for char in plain):
        return None
    bare = "".join(char if char.isdecimal() else "-" if _is_dash(char) else " " for char in plain)
    numbers = _RANGE.sub("-", bare).split()
    if not any(char.isdecimal() for char in bare):
        return None
    return RowSelection(" ".join(numbers), tuple(map(_parse_range, numbers)))


def _parse_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or text.endswith("-"):
        return (0, 0)
    # No list is that long, and Python refuses to read thousands of digits.
    ends = [int(end[: _MAX_DIGITS + 1]) for end in (first, last or first)]
    return min(ends), max(ends)


def _is_dash(char: str) -> bool:
    return char == "\u2212" or unicodedata.category(char) == "Pd"


def filter_by_words(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """Return the rows whose facts hold every one of the words.

    A word of a script without capitals, of which many write words together or particles onto them, also counts
    inside another word.
    """
    return [row for row in rows if _has_words(split_words(row.fact.text), words)]


def format_count(count: int) -> str:
    """Return how many facts these are, in words."""
    return "1 fact" if count == 1 else f"{count} facts"


def _has_words(fact_words: Sequence[str], words: Sequence[str]) -> bool:
    return all(
        word in fact_words or (_is_caseless_script(word) and any(word in other for other in fact_words))
        for word in words
    )


def _is_caseless_script(word: str) -> bool:
    return any(unicodedata.category(char) == "Lo" for char in word)
