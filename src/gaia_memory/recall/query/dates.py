"""Dates in a question, and how close a moment is to them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
]
_MONTH_NUMBERS = {name: number for number, month in enumerate(_MONTHS, 1) for name in (month, month[:3])}
_AMBIGUOUS_MONTHS = ("may", "march")
_MONTH_NAMES = "|".join(sorted(_MONTH_NUMBERS.keys() - set(_AMBIGUOUS_MONTHS), key=len, reverse=True))
_AMBIGUOUS_MONTH_NAMES = "|".join(_AMBIGUOUS_MONTHS)
_TIME_PREPOSITIONS = "|".join(
    rf"(?<={word} )" for word in (r"\d", "st", "nd", "rd", "th", "of", "in", "on", "since", "during", "by")
)
_DAY = r"(?P<{0}>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_REMOTE_YEAR = rf"\.?(?: {_DAY.format('skipped')}\b)?,? (?:of )?(?!(?:19|20)\d\d\b)\d{{4,}}"
"""A year outside 1900 to 2099: the date before it belongs to that year, and so to no conversation."""
_MONTH = re.compile(
    rf"\b(?:{_DAY.format('before')} (?:of )?)?"
    # "may" and "march" are months only next to a day or a year, or after a preposition of time.
    rf"(?P<month>{_MONTH_NAMES}|(?:{_TIME_PREPOSITIONS})(?:{_AMBIGUOUS_MONTH_NAMES})"
    rf"|(?:{_AMBIGUOUS_MONTH_NAMES})(?= \d))\b(?!{_REMOTE_YEAR})"
    rf"\.?(?: {_DAY.format('after')}\b(?!\d))?",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>0[1-9]|[12]\d|3[01]))?\b")
_ISO_LIKE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

_NEXT_MONTH_SCORE = 0.3
_OTHER_YEAR_FACTOR = 0.3
_YEAR_ONLY_SCORE = 0.3
_DATE_MATCH_SCORE = 0.5
_DAYS_PER_WEEK = 7
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DateMentions:
    """The months (1 to 12), years and days of the month in a question."""

    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()

    def closeness(self, moment: datetime) -> float:
        """Return how well a moment fits, from 0 to 2.

        A month in the question counts 1, and the month after it 0.3, because people talk about events later; both count
        less in another year. The closer to a day in the question, the more is added, up to 1. A year alone counts 0.3.
        """
        if not self.months:
            return _YEAR_ONLY_SCORE if moment.year in self.years else 0.0
        before = moment.month - 1 or 12
        score = 1.0 if moment.month in self.months else _NEXT_MONTH_SCORE if before in self.months else 0.0
        if self.years and moment.year not in self.years:
            return score * _OTHER_YEAR_FACTOR
        if score == 1.0 and self.days:
            score += max(0.0, 1 - min(abs(moment.day - day) for day in self.days) / _DAYS_PER_WEEK)
        return score

    def relevance(self, moment: datetime) -> float:
        """Return the score of a fact said at a moment, regardless of its words; 0 if the moment does not fit."""
        if self.months:
            return _DATE_MATCH_SCORE if self.closeness(moment) >= 1 else 0.0
        return self.closeness(moment)


def to_datetime(seconds: float) -> datetime:
    """Return seconds since the epoch, also negative ones, as a time in UTC."""
    return _EPOCH + timedelta(seconds=seconds)


def parse_dates(text: str) -> DateMentions:
    """Return the dates in a text, in English or ISO form; invalid ISO dates are ignored."""
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    text = _ISO_LIKE.sub(lambda match: match[0] if _ISO.fullmatch(match[0]) else "", text)
    months, days = set(), set()
    years = {int(year) for year in _YEAR.findall(text)}
    for match in _MONTH.finditer(text):
        months.add(_MONTH_NUMBERS[match["month"].casefold()])
        days |= {int(day) for day in (match["before"], match["after"]) if day}
    for match in _ISO.finditer(text):
        months.add(int(match["month"]))
        days |= {int(match["day"])} if match["day"] else set()
    return DateMentions(frozenset(months), frozenset(years), frozenset(days))
