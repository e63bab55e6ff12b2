"""What a question asks for: its words, dates, and kind of answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.answer_types import MOMENT, NUMBER, PLACE, TITLE
from gaia_memory.language.stems import stem
from gaia_memory.language.stop_words import STOP_WORDS, without_possessive, words_of
from gaia_memory.language.tokenizer import QUERY_LIMIT, indexed_words, joined_words, query_words
from gaia_memory.language.word_variants import spellings
from gaia_memory.recall.query.dates import Dates, dates_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 4_000
"""Characters of a question that are read: who sends a whole page asks at its beginning or at its end."""

_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart.

    `terms` are what to look for, each as the set of stems that say the same, and `words` the same unstemmed. `asked`
    has one entry for each word as it was written: the ways to hold it, each as places in `terms`. `proper_names` are
    those that a capital begins, but for the first, as they are compared.
    """

    text: str
    terms: tuple[frozenset[str], ...]
    words: tuple[frozenset[str], ...]
    asked: tuple[tuple[tuple[int, ...], ...], ...]
    dates: Dates
    proper_names: frozenset[str] = frozenset()

    def naming(self) -> NDArray[np.bool_]:
        """Say of each term whether it is a name, by its capital, or holds a digit."""
        return np.array(
            [
                not family.isdisjoint(self.proper_names) or any(char.isdigit() for each in family for char in each)
                for family in self.words
            ],
            dtype=bool,
        )

    def names(self, names: Iterable[str]) -> list[bool]:
        """Say of each term whether it only names one of these people; of none when no other term would be left."""
        naming = {stem(word) for name in names for word in indexed_words(name)}
        found = [bool(term & naming) for term in self.terms]
        return [False] * len(found) if all(found) else found


def shortened(text: str) -> str:
    """Return a text as it is asked: of a very long one its two ends, where the question stands."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"


def read(text: str) -> Question:
    """Take a question apart."""
    places: dict[frozenset[str], int] = {}
    asked = []
    for word in words_of(text):
        parts = query_words(word)
        ways = [
            [_same(each, word if len(parts) == 1 else each) for each in parts],
            *([frozenset({each})] for each in joined_words(word)),
        ]
        asked.append(tuple(tuple(places.setdefault(term, len(places)) for term in way) for way in ways if way))
    for number in joined_words(text):
        if not any(number in term for term in places):
            places[frozenset({number})] = len(places)
    families = tuple(places)[:QUERY_LIMIT]
    return Question(
        text,
        tuple(frozenset(map(stem, family)) for family in families),
        families,
        tuple(ways for ways in asked if ways and all(place < QUERY_LIMIT for way in ways for place in way)),
        dates_in(text),
        frozenset(each for name in _names_in(text) for each in indexed_words(name)),
    )


def _names_in(text: str) -> list[str]:
    return [without_possessive(word) for word in _WORD.findall(text)[1:] if _is_name(word)]


def _is_name(word: str) -> bool:
    return word[0].isupper() and word.casefold().replace("\u2019", "'") not in STOP_WORDS


def _same(part: str, written: str) -> frozenset[str]:
    """Return a part of a word with its other forms and spellings, as the index has them."""
    return frozenset({part, *(each for form in spellings(written) for each in query_words(form))})


class Finder:
    """Finds the terms of one question in texts."""

    def __init__(self, terms: Sequence[frozenset[str]]) -> None:
        self._places = {each: place for place, term in reversed(list(enumerate(terms))) for each in term}

    def places(self, words: Sequence[str]) -> list[int | None]:
        """Return for each word the place of the term it is a form of, or None."""
        return [self._places.get(stem(word)) for word in words]


_OF_ONESELF = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b", re.IGNORECASE)
_OF_AN_ANSWER = re.compile(
    r"\bdid you\b|\byou(?:'ve|'d| had| have)? (?:\w+ )?(?:told|said|gave|wrote|list|suggest|recommend|mention|provid"
    r"|shar|advis|explain|propos|describ)\w*|\byour (?:\w+ )?(?:answer|advice|list|suggestion|recommendation)s?\b"
    r"|\b(?:previous|last|earlier) (?:chat|conversation|discussion)\b",
    re.IGNORECASE,
)


def asks_for_an_answer(question: str) -> bool | None:
    """Say whether a question is about what it was answered before, or, False, about who asks; None for neither.

    Of "What did you recommend for my back?" the answer gave it; "What did I buy?" they told themselves.
    """
    if _OF_AN_ANSWER.search(question):
        return True
    return False if _OF_ONESELF.search(question) else None


_KINDS = tuple(
    (kind, re.compile(asked, re.IGNORECASE))
    for kind, asked in (
        (MOMENT, r"^\W*(?:when|(?:what|which) (?:date|day|month|year))\b|\bhow long\b"),
        (NUMBER, r"\bhow (?:many|much|often|old)\b|\bwhat (?:time|number|age)\b"),
        (PLACE, r"^\W*(?:where|(?:what|which) (?:city|country|state|place)) ?\b"),
        (TITLE, r"\b(?:books?|movies?|films?|songs?|games?|titles?|bands?|shows?|series|names?|called)\b"),
    )
)


def kinds_asked(question: str) -> int:
    """Return which kinds an answer to the question is likely to hold, added up."""
    return sum(kind for kind, asked in _KINDS if asked.search(question))
