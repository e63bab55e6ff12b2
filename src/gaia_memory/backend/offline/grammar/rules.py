"""What the rules of each language consist of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources

_PLACEHOLDER = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True)
class Tables:
    """The words and patterns of one language, from its TOML file."""

    parts: dict[str, str]
    """Pieces that several patterns share: `<<name>>` stands for one."""

    patterns: dict[str, re.Pattern[str]]
    """The tables `patterns`, without regard to case, and `cased`."""

    replacements: dict[str, list[tuple[re.Pattern[str], str]]]
    """Patterns and what takes the place of each match."""

    lists: dict[str, list[list[str]]]
    """Lines of words; `|` also ends a line."""

    def words(self, name: str) -> frozenset[str]:
        """Return all words of a list."""
        return frozenset(word for line in self.lists[name] for word in line)

    def pairs(self, name: str) -> dict[str, list[str]]:
        """Return the words that follow the first of each line."""
        return {line[0]: line[1:] for line in self.lists[name]}

    def replace(self, name: str, text: str) -> str:
        """Return a text with all replacements of one name made."""
        for pattern, replacement in self.replacements[name]:
            text = pattern.sub(replacement, text)
        return text


@dataclass(frozen=True)
class Grammar:
    """The rules of one language."""

    tables: Tables
    """With the patterns `lead_in` ("by the way"), `doubt` (beginnings of guesses and hypotheticals), `birthday_today`,
    `pronoun` (a subject that needs a person named before), `dangling` (a pronoun that stands for nobody named), and
    `person…` (whom a fact is about); `other_subject` for a clause that follows "and"; `next_statement`, `statement` and
    `unfinished` for lines without punctuation; the part `birthday_fact` and the list `months`."""

    split_clauses: Callable[[str], list[str]]
    """Splits a sentence into its statements."""

    to_third_person: Callable[[str], str | None]
    """Puts a statement about the speaker into the third person; None when it states nothing."""

    @property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """The patterns of the tables."""
        return self.tables.patterns

    def birthday(self, day: date) -> str:
        """Return the fact that the user's birthday is on a day."""
        [months] = self.tables.lists["months"]
        return self.tables.parts["birthday_fact"].format(day=day.day, month=months[day.month - 1])


@lru_cache
def load_tables(name: str) -> Tables:
    """Read a TOML file of words and patterns."""
    file = resources.files("gaia_memory.backend.offline.grammar") / f"{name}.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    parts: dict[str, str] = {}
    for key, part in content.get("parts", {}).items():
        parts[key] = _fill(part, parts)
    patterns = {name: _compile(pattern, parts) for name, pattern in content.get("patterns", {}).items()}
    for name, pattern in content.get("cased", {}).items():
        patterns[name] = _compile(pattern, parts, 0)
    lists = {name: _lines(text) for name, text in content.get("lists", {}).items()}
    replacements = {
        name: [(_compile(pattern, parts), replacement) for pattern, replacement in pairs]
        for name, pairs in content.get("replacements", {}).items()
    }
    return Tables(parts, patterns, replacements, lists)


def _compile(pattern: str, parts: dict[str, str], flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(_fill(pattern, parts), flags)


def _fill(pattern: str, parts: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], pattern).replace("\n", "")


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in re.split(r"[|\n]", text) if line.strip()]


def opens_with_other_subject(joint: str, left: str, right: str, patterns: Mapping[str, re.Pattern[str]]) -> bool:
    """Return whether a conjunction joins a clause with a subject of its own to a finished one.

    Not in "I dreamed that Tom is rich and Anna is poor", whose second clause is as much of a dream as the first.
    """
    is_finished = patterns["unfinished"].search(left) is None and "," not in left
    return bool(joint.strip(" ,")) and is_finished and patterns["other_subject"].match(right) is not None


def capitalize(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]
