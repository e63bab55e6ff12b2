"""What a text says about time: periods, open sides and recurrences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum

_DAY_NUMBER = re.compile(r"(?<![\d/.-])\d{1,2}(?![\d/-])")


class Grain(StrEnum):
    """The unit in which a writer gave a date: an hour in "at 9", a month in "two months ago"."""

    MINUTE = "minute"
    HOUR = "hour"
    PART_OF_DAY = "part of day"
    DAY = "day"
    WEEKEND = "weekend"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"


class Bound(StrEnum):
    """How a period limits what is said: "on", "until", "before", "since" or "after" it."""

    WITHIN = "within"
    UNTIL = "until"
    BEFORE = "before"
    SINCE = "since"
    AFTER = "after"


class Anchor(StrEnum):
    """Where a date comes from.

    It is written in full ("7 May 2023", "2023"), counted from today ("yesterday", "next Friday") or from now ("in two
    hours"), written without its year ("in June", "7 May"), or completed because more is missing ("Friday", "at 9").
    """

    STATED = "stated"
    RELATIVE = "relative"
    CLOCK = "clock"
    YEARLESS = "yearless"
    INFERRED = "inferred"


class Frequency(StrEnum):
    """The unit of a recurrence, as in RFC 5545."""

    HOURLY = "HOURLY"
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


_RRULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WIDENED_GRAINS = (Grain.WEEK, Grain.MONTH, Grain.YEAR)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A repetition: every `interval` units, on these weekdays (0 is Monday), day and month, at a local time of day."""

    frequency: Frequency
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    month: int | None = None
    at: time | None = None

    @property
    def rrule(self) -> str:
        """The value of an iCalendar RRULE (RFC 5545), such as `FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0`."""
        parts: list[tuple[str, object]] = [("FREQ", self.frequency)]
        if self.interval > 1:
            parts.append(("INTERVAL", self.interval))
        if self.month:
            parts.append(("BYMONTH", self.month))
        if self.day:
            parts.append(("BYMONTHDAY", self.day))
        if self.weekdays:
            parts.append(("BYDAY", ",".join(_RRULE_DAYS[day] for day in self.weekdays)))
        if self.at:
            parts += [("BYHOUR", self.at.hour), ("BYMINUTE", self.at.minute)]
        return ";".join(f"{name}={value}" for name, value in parts)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text.

    `start` and `end` are the period that is named, half-open and in the reader's zone; `bound` says which side is open.
    A count of weeks, months or years ("in two months") names one day, and `grain` says how exact it is. The first
    occurrence stands for a recurrence. `span` are the positions in the text, with the preposition.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    grain: Grain
    anchor: Anchor
    bound: Bound = Bound.WITHIN
    has_time: bool = False
    recurrence: Recurrence | None = None

    @property
    def valid_from(self) -> datetime | None:
        """When what is said begins to hold; None for "until" and "before"."""
        if self.bound is Bound.AFTER:
            return self.start if self.has_time else self.end
        return None if self.bound in (Bound.UNTIL, Bound.BEFORE) else self.start

    @property
    def valid_until(self) -> datetime | None:
        """When what is said ceases to hold, exclusively; None for "since" and "after".

        "Until Friday" includes Friday, "until 5 pm" ends at five.
        """
        if self.bound is Bound.BEFORE or (self.bound is Bound.UNTIL and self.has_time):
            return self.start
        return None if self.bound in (Bound.SINCE, Bound.AFTER) else self.end

    def lacks_its_day(self, text: str) -> bool:
        """Return whether `text` names a day that the month does not have, such as 30 February: a month is read."""
        is_month = self.grain is Grain.MONTH and self.end - self.start > timedelta(days=27)
        return is_month and _DAY_NUMBER.search(text[slice(*self.span)]) is not None

    def widen(self) -> tuple[datetime, datetime]:
        """Return the period, or the whole week, month or year around a day counted in these units."""
        if self.grain not in _WIDENED_GRAINS or self.end - self.start > timedelta(days=1, hours=2):
            return self.start, self.end
        midnight = self.start.replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            if self.grain is Grain.WEEK:
                monday = midnight - timedelta(days=midnight.weekday())
                return monday, monday + timedelta(days=7)
            first = midnight.replace(day=1) if self.grain is Grain.MONTH else midnight.replace(month=1, day=1)
            next_first = first + timedelta(days=32 if self.grain is Grain.MONTH else 367)
            return first, next_first.replace(day=1)
        except OverflowError:
            return self.start, self.end
