"""Dates in a question, and how close a moment is to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gaia_memory.language.dates import DateMention, read_dates

_ISO_LIKE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_WORD = re.compile(r"\w+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_COUNTED_ANCHORS = ("relative", "inferred", "clock")
_MAX_LISTED_DAYS = 31
"""Days of a period that are compared one by one; of a longer one, only months or years count."""

_NEXT_MONTH_SCORE = 0.3
_OTHER_YEAR_FACTOR = 0.3
_YEAR_ONLY_SCORE = 0.3
_DATE_MATCH_SCORE = 0.5
_DAYS_PER_WEEK = 7
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DateMentions:
    """The months (1 to 12), years and days of the month in a question, and the words that name them."""

    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    words: frozenset[str] = field(default=frozenset(), compare=False)

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

    def union(self, other: DateMentions) -> DateMentions:
        """Return the dates of both."""
        return DateMentions(self.months | other.months, self.years | other.years, self.days | other.days)

    def relevance(self, moment: datetime) -> float:
        """Return the score of a fact said at a moment, regardless of its words; 0 if the moment does not fit."""
        if self.months:
            return _DATE_MATCH_SCORE if self.closeness(moment) >= 1 else 0.0
        return self.closeness(moment)


def to_datetime(seconds: float) -> datetime:
    """Return seconds since the epoch, also negative ones, as a time in UTC."""
    return _EPOCH + timedelta(seconds=seconds)


def parse_dates(text: str, now: datetime | None = None) -> DateMentions:
    """Return the dates in a question, in English or ISO 8601.

    `now` is the local time at which it is asked. Without it, dates such as "yesterday" are left out. A month without a
    year is one of any year. What is still to come was not talked about on that day, so "tomorrow" is left out as well.
    """
    found = DateMentions(years=frozenset(int(year) for year in _YEAR.findall(_ISO_LIKE.sub("", text))))
    moment = now or _EPOCH
    mentions = [each for each in read_dates(text, moment, moment.tzinfo or UTC, direction="past") if not each.every]
    # Next to a date in full, "last week" is the week before that date, not before the question.
    keeps_counted = now is not None and all(each.anchor != "stated" for each in mentions)
    for mention in mentions:
        is_counted = mention.anchor in _COUNTED_ANCHORS
        if not is_counted or (keeps_counted and mention.start <= moment):
            found = found.union(_calendar_parts(mention))
    return replace(found, words=frozenset(_WORD.findall(" ".join(text[slice(*each.span)] for each in mentions))))


def _calendar_parts(mention: DateMention) -> DateMentions:
    first, after = _widen(mention)
    last = max(first, after - timedelta(microseconds=1)).date()
    days = [first.date() + timedelta(days=offset) for offset in range((last - first.date()).days + 1)]
    years = frozenset[int]() if mention.anchor == "yearless" else frozenset(day.year for day in days)
    months = frozenset(day.month for day in days)
    if len(days) <= _MAX_LISTED_DAYS and mention.grain != "month":
        return DateMentions(months, years, frozenset(day.day for day in days))
    return DateMentions(years=years) if mention.grain == "year" else DateMentions(months, years)


def _widen(mention: DateMention) -> tuple[datetime, datetime]:
    """Return the period, or the whole week, month or year around a day counted in these units."""
    if mention.grain not in ("week", "month", "year") or mention.end - mention.start > timedelta(days=1, hours=2):
        return mention.start, mention.end
    midnight = mention.start.replace(hour=0, minute=0, second=0, microsecond=0)
    if mention.grain == "week":
        monday = midnight - timedelta(days=midnight.weekday())
        return monday, monday + timedelta(days=_DAYS_PER_WEEK)
    first = midnight.replace(day=1) if mention.grain == "month" else midnight.replace(month=1, day=1)
    return first, (first + timedelta(days=32 if mention.grain == "month" else 367)).replace(day=1)
