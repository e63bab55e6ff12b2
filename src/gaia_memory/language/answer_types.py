"""Types of answer that a text contains: a moment, a number, a place, a title."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOMENT, NUMBER, PLACE, TITLE = 1, 2, 4, 8

TIME_WORDS = frozenset(
    (
        *("yesterday", "today", "tonight", "tomorrow", "ago", "last", "next", "recently", "since"),
        *("morning", "evening", "weekend", "day", "days", "week", "weeks", "month", "months", "year", "years"),
        *("summer", "winter", "spring", "autumn"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        *("january", "february", "march", "april", "june", "july", "august"),
        *("september", "october", "november", "december"),
    )
)
NUMBER_WORDS = frozenset(
    (
        *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "once", "twice"),
        *("couple", "several", "few", "dozen", "every", "second", "third"),
    )
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PLACE = re.compile(r"\b(?:in|at|from|near|to|around) (?:the )?[A-Z]\w+")
_TITLE = re.compile(
    r"[\"\u201c\u201e\u00ab][^\"\u201d\u201c\u00bb]{2,}|['\u2018][A-Z][^'\u2019]{2,}['\u2019]|\b(?:called|named)\b"
)


def detect_answer_types(text: str, words: Sequence[str]) -> int:
    """Return the types of answer in a text with these words, as a bit mask."""
    numerals = [word for word in words if word.isdigit()]
    answer_types = 0
    if not TIME_WORDS.isdisjoint(words) or any(map(_YEAR.fullmatch, numerals)):
        answer_types |= MOMENT
    if numerals or not NUMBER_WORDS.isdisjoint(words):
        answer_types |= NUMBER
    if _PLACE.search(text):
        answer_types |= PLACE
    if _TITLE.search(text):
        answer_types |= TITLE
    return answer_types
