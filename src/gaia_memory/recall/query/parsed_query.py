"""Parses a question: its words, names, dates and expected type of answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.stems import stem
from gaia_memory.language.stop_words import STOP_WORDS, content_words, strip_possessive
from gaia_memory.language.tokenizer import MAX_QUERY_WORDS, compound_tokens, index_tokens, query_tokens
from gaia_memory.language.word_variants import word_variants
from gaia_memory.recall.query.dates import DateMentions, parse_dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_QUERY_CHARACTERS = 4_000
"""Characters of a question that are read: the middle of a longer one is dropped."""

_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed question.

    `terms` are sets of equivalent stems to search for, and `words` the same sets unstemmed. `word_alternatives` has one
    entry per written word: the alternative ways to contain it, each as indices of `terms`. `proper_names` are the
    capitalised words except the first and those of dates, normalised.
    """

    text: str
    terms: tuple[frozenset[str], ...]
    words: tuple[frozenset[str], ...]
    word_alternatives: tuple[tuple[tuple[int, ...], ...], ...]
    dates: DateMentions
    proper_names: frozenset[str] = frozenset()

    @property
    def compound_terms(self) -> list[int]:
        """The terms that join words of the question, such as `lh1234` for "LH 1234"."""
        written = {index for ways in self.word_alternatives for way in ways for index in way}
        return [index for index in range(len(self.terms)) if index not in written]

    def name_mask(self) -> NDArray[np.bool_]:
        """Return for each term whether it is a proper name or contains a digit."""
        return np.array(
            [
                not family.isdisjoint(self.proper_names) or any(char.isdigit() for each in family for char in each)
                for family in self.words
            ],
            dtype=bool,
        )

    def person_name_mask(self, person_names: Iterable[str]) -> list[bool]:
        """Return for each term whether it is a name of these people; no term is if all of them are."""
        name_stems = {stem(word) for name in person_names for word in index_tokens(name)}
        is_name = [bool(term & name_stems) for term in self.terms]
        return [False] * len(is_name) if all(is_name) else is_name


def truncate_middle(text: str) -> str:
    """Return the text, or both ends of a very long one, where the question usually is."""
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    return f"{text[: MAX_QUERY_CHARACTERS // 2]} {text[-MAX_QUERY_CHARACTERS // 2 :]}"


def parse_query(text: str, now: datetime | None = None) -> ParsedQuery:
    """Parse a question that is asked at the local time `now`; without it, relative dates have no meaning."""
    term_indices: dict[frozenset[str], int] = {}
    word_alternatives = []
    for word in content_words(text):
        parts = query_tokens(word)
        alternatives = [
            [_term_variants(each, word if len(parts) == 1 else each) for each in parts],
            *([frozenset({each})] for each in compound_tokens(word)),
        ]
        word_alternatives.append(
            tuple(
                tuple(term_indices.setdefault(term, len(term_indices)) for term in way) for way in alternatives if way
            )
        )
    for compound in compound_tokens(text):
        if not any(compound in term for term in term_indices):
            term_indices[frozenset({compound})] = len(term_indices)
    families = tuple(term_indices)[:MAX_QUERY_WORDS]
    dates = parse_dates(text, now)
    return ParsedQuery(
        text,
        tuple(frozenset(map(stem, family)) for family in families),
        families,
        tuple(
            ways for ways in word_alternatives if ways and all(index < MAX_QUERY_WORDS for way in ways for index in way)
        ),
        dates,
        frozenset(each for name in _find_names(text) if name not in dates.words for each in index_tokens(name)),
    )


def _find_names(text: str) -> list[str]:
    return [strip_possessive(word) for word in _WORD.findall(text)[1:] if _is_name(word)]


def _is_name(word: str) -> bool:
    return word[0].isupper() and word.casefold().replace("\u2019", "'") not in STOP_WORDS


def _term_variants(part: str, written: str) -> frozenset[str]:
    """Return a part of a word with its variants, as indexed."""
    return frozenset({part, *(each for form in word_variants(written) for each in query_tokens(form))})
