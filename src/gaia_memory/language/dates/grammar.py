"""Phrases of dates as data: words, slots and what they mean, found by their first word."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from gaia_memory.language.dates.date_tokens import Gap, Token
from gaia_memory.language.dates.draft import Draft
from gaia_memory.language.dates.resolution import Reference

_DAY_AND_MONTH = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}")
_CENTURIES = ("19", "20")
NUMBER_KEY = "0"
"""Key of the phrases that begin with a number."""

Values = Mapping[str, Any]
Meaning = Callable[[Values, Reference], Draft | None]
PhraseRow = tuple[str, Meaning | None]
"""A phrase and its meaning; None for a phrase that looks like a date and is none.

The phrase is a sequence of words with "|" between alternatives, slots such as `{month}`, and "?" after what is
optional. `!a|b` at the end excludes that one of these words follows, `&a|b` demands it, and `$` demands the end of a
clause. Of two phrases of the same length the first counts.
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one of several words or for a number, with the values they have."""

    words: Mapping[str, Any]
    read_number: Callable[[Token], Any] | None = None

    def read(self, token: Token) -> Any:
        """Return the value of a token; None if it does not belong here."""
        if token.text[0] <= "9":
            return self.read_number(token) if self.read_number and token.number != -2 else None
        return self.words.get(token.text)


class _Phrase(NamedTuple):
    elements: tuple[tuple[str, frozenset[str] | Slot], ...]
    meaning: Meaning | None
    excluded: frozenset[str]
    required: frozenset[str]
    ends_clause: bool


class Match(NamedTuple):
    """A phrase in a text: the index after its last token and what it means; None for "no date"."""

    end: int
    draft: Draft | None


class Grammar:
    """The phrases of one language, indexed by their first word."""

    def __init__(self, slots: Mapping[str, Slot], rows: Iterable[PhraseRow], abbreviations: frozenset[str]) -> None:
        self._slots = slots
        self._abbreviations = abbreviations
        self._by_opener: dict[str, list[_Phrase]] = defaultdict(list)
        for text, meaning in rows:
            for phrase in self._expand(text, meaning):
                for opener in self._openers(phrase.elements[0][1]):
                    self._by_opener[opener].append(phrase)
        self._by_opener = dict(self._by_opener)
        self._by_two: dict[tuple[str, str], list[_Phrase]] = {}
        phrases = [phrase for bucket in self._by_opener.values() for phrase in bucket]
        elements = [element for phrase in phrases for _, element in phrase.elements]
        self._words = frozenset[str]().union(
            *(element.words if isinstance(element, Slot) else element for element in elements),
            *(phrase.required for phrase in phrases),
        )

    def knows_a_word_of(self, texts: Iterable[str]) -> bool:
        """Return whether one of these words occurs in a phrase."""
        return not self._words.isdisjoint(texts)

    def match(self, tokens: Sequence[Token], index: int, reference: Reference) -> Match | None:
        """Return the longest phrase that begins at a token."""
        token = tokens[index]
        opener = NUMBER_KEY if token.text[0] <= "9" else token.text
        if token.number == -2 or opener not in self._by_opener:
            return None
        best: Match | None = None
        for phrase in self._candidates(opener, tokens, index + 1):
            if best is not None and index + len(phrase.elements) <= best.end:
                continue
            values = self._read(phrase, tokens, index)
            if values is None:
                continue
            end = index + len(phrase.elements)
            if phrase.meaning is None:
                best = Match(end, None)
                continue
            draft = _evaluate(phrase.meaning, values, reference)
            if draft is not None:
                best = Match(end, draft)
        return best

    def opens_nothing(self, tokens: Sequence[Token], index: int) -> bool:
        """Return whether no date begins at a token, told without a look at the phrases.

        A number alone is none: a word of a date must follow, unless it contains a year.
        """
        token = tokens[index]
        if token.number == -2:
            return True
        if token.text[0] > "9":
            return token.text not in self._by_opener
        if token.number == -1 and any(century in token.text for century in _CENTURIES):
            return False
        return not (index + 1 < len(tokens) and tokens[index + 1].gap and tokens[index + 1].text in self._words)

    def _candidates(self, opener: str, tokens: Sequence[Token], second: int) -> list[_Phrase]:
        """Return the phrases that begin with these two tokens, or with the first alone."""
        key = ""
        if second < len(tokens) and self.is_joined(tokens, second):
            text = tokens[second].text
            key = NUMBER_KEY if text[0] <= "9" else text if text in self._words else ""
        found = self._by_two.get((opener, key))
        if found is None:
            found = self._by_two[opener, key] = [
                phrase
                for phrase in self._by_opener[opener]
                if len(phrase.elements) == 1 or key in self._openers(phrase.elements[1][1])
            ]
        return found

    def is_joined(self, tokens: Sequence[Token], index: int) -> bool:
        """Return whether a token continues the phrase before it; after a number or abbreviation, also across a dot."""
        gap, before = tokens[index].gap, tokens[index - 1]
        if gap is Gap.DOT:
            is_day = 0 <= before.number <= 31 or _DAY_AND_MONTH.fullmatch(before.text)
            return bool(is_day) or before.text in self._abbreviations
        return gap in (Gap.JOIN, Gap.HYPHEN)

    def _read(self, phrase: _Phrase, tokens: Sequence[Token], index: int) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for offset, (name, element) in enumerate(phrase.elements):
            at = index + offset
            if at >= len(tokens) or (offset and not self.is_joined(tokens, at)):
                return None
            token = tokens[at]
            if isinstance(element, Slot):
                value = element.read(token)
                if value is None:
                    return None
                values[name] = value
            elif token.text not in element:
                return None
        end = index + len(phrase.elements)
        follower = tokens[end] if end < len(tokens) and tokens[end].gap is Gap.JOIN else None
        if phrase.required and (follower is None or follower.text not in phrase.required):
            return None
        if follower is not None and (follower.text in phrase.excluded or phrase.ends_clause):
            return None
        return values

    def _expand(self, text: str, meaning: Meaning | None) -> list[_Phrase]:
        """Return the phrase with and without each of its optional words."""
        words = text.split()
        ends_clause = words[-1] == "$"
        words = words[:-1] if ends_clause else words
        excluded = frozenset(words.pop()[1:].split("|")) if words[-1].startswith("!") else frozenset[str]()
        required = frozenset(words.pop()[1:].split("|")) if words[-1].startswith("&") else frozenset[str]()
        choices = [(None, word[:-1]) if word.endswith("?") else (word,) for word in words]
        expanded = []
        for choice in product(*choices):
            elements = tuple(self._element(word) for word in choice if word is not None)
            expanded.append(_Phrase(elements, meaning, excluded, required, ends_clause))
        return expanded

    def _element(self, word: str) -> tuple[str, frozenset[str] | Slot]:
        if word.startswith("{"):
            name = word[1:-1]
            return name, self._slots[name]
        return "", frozenset(word.split("|"))

    def _openers(self, element: frozenset[str] | Slot) -> Iterable[str]:
        if isinstance(element, Slot):
            return [*element.words, *([NUMBER_KEY] if element.read_number else [])]
        return element


def _evaluate(meaning: Meaning, values: Values, reference: Reference) -> Draft | None:
    try:
        return meaning(values, reference)
    except (OverflowError, ValueError):
        return None
