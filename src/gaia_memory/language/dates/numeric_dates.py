"""Dates and times written in digits."""

from __future__ import annotations

import re
from typing import NamedTuple

FIRST_YEAR, LAST_YEAR = 1900, 2099
"""Years that four digits alone may mean."""

_MAX_CHARACTERS = 25
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_TIME = r"(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::[0-5]\d)?"
_OFFSET = r"(?P<offset>z|[+-]\d\d:?\d\d)"
_ISO = re.compile(rf"{_YEAR}[-/](?P<month>\d\d)(?:[-/](?P<day>\d\d)(?:t{_TIME}(?:[.,]\d+)?{_OFFSET}?)?)?", re.ASCII)
_DATE = re.compile(rf"(?P<first>\d\d?)(?P<mark>[./-])(?P<second>\d\d?)(?P=mark){_YEAR}", re.ASCII)
_SHORT_DATE = re.compile(r"(?P<first>\d\d?)(?P<mark>[./])(?P<second>\d\d?)(?:(?P=mark)(?P<year>\d\d))?", re.ASCII)
_CLOCK = re.compile(rf"{_TIME}(?P<meridiem>[ap]m?)?|(?P<only_hour>\d\d?)(?P<only_meridiem>[ap]m)", re.ASCII)
_FRENCH_CLOCK = re.compile(r"(?P<hour>[01]?\d|2[0-4])h(?P<minute>[0-5]\d)?", re.ASCII)
_DOTTED_CLOCK = re.compile(r"(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d)", re.ASCII)
_ORDINAL = re.compile(r"(?P<day>\d\d?)(?:st|nd|rd|th|er|o|a)", re.ASCII)
_NUMBER_RANGE = re.compile(r"(?P<first>\d\d?)-(?P<second>\d\d?)", re.ASCII)
_YEAR_RANGE = re.compile(r"(?P<first>(?:19|20)\d\d)[-/](?P<second>(?:19|20)?\d\d)", re.ASCII)


class CalendarDate(NamedTuple):
    """A date of the calendar; `day` is None for a whole month."""

    year: int | None
    month: int
    day: int | None


class Clock(NamedTuple):
    """A time of day: `minute` is None if only the hour is given, `meridiem` is "a", "p" or empty.

    `is_spoken` marks "half past four" and the like, which nobody says of the 24-hour clock.
    """

    hour: int
    minute: int | None = None
    meridiem: str = ""
    is_spoken: bool = False


class IsoMoment(NamedTuple):
    """A date and time in ISO 8601; `offset` is in minutes east of UTC, or None for local time."""

    date: CalendarDate
    clock: Clock
    offset: int | None


def read_iso(text: str) -> CalendarDate | IsoMoment | None:
    """Read `2026-11`, `2026-11-22` or `2026-11-22t15:00z`."""
    found = _ISO.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if not found or not 1 <= int(found["month"]) <= 12 or (found["day"] is None and "/" in text):
        return None
    day = int(found["day"]) if found["day"] else None
    date = _valid(int(found["year"]), int(found["month"]), day)
    if date is None or found["hour"] is None:
        return date
    return IsoMoment(date, Clock(int(found["hour"]), int(found["minute"])), _minutes(found["offset"]))


def read_date(text: str, *, month_first: bool, is_short: bool = False) -> CalendarDate | None:
    """Read `22.11.2026`, `22/11/2026` or `11/22/2026`, or if `is_short` `22.11.26` or `11/22`.

    `month_first` decides on `11/12/2026`. Two digits up to 69 are a year of this century.
    """
    found = (_SHORT_DATE if is_short else _DATE).fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if not found:
        return None
    first, second = int(found["first"]), int(found["second"])
    is_month_first = found["mark"] != "." and (second > 12 or (month_first and first <= 12))
    month, day = (first, second) if is_month_first else (second, first)
    year = int(found["year"]) if found["year"] else None
    if year is not None and year < 100:
        year += 2000 if year < 70 else 1900
    return _valid(year, month, day)


def read_clock(text: str) -> Clock | None:
    """Read `9:30`, `9:30pm`, `9am`, `9h` or `9h30`."""
    if len(text) > _MAX_CHARACTERS:
        return None
    if french := _FRENCH_CLOCK.fullmatch(text):
        return Clock(int(french["hour"]), int(french["minute"]) if french["minute"] else None)
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    if found["only_hour"]:
        hour, minute, meridiem = int(found["only_hour"]), None, found["only_meridiem"]
    else:
        hour, minute, meridiem = int(found["hour"]), int(found["minute"]), found["meridiem"] or ""
    if (meridiem and not 1 <= hour <= 12) or (hour == 24 and minute):
        return None
    return Clock(hour, minute, meridiem[:1])


def read_dotted_clock(text: str) -> Clock | None:
    """Read `9.30`, which is a time only next to other words of time."""
    found = _DOTTED_CLOCK.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    return Clock(int(found["hour"]), int(found["minute"])) if found else None


def read_ordinal(text: str) -> int | None:
    """Read `3rd`, `1er` or `1o` as a day of the month."""
    found = _ORDINAL.fullmatch(text) if len(text) <= 4 else None
    return int(found["day"]) if found and 1 <= int(found["day"]) <= 31 else None


def read_number_range(text: str) -> tuple[int, int] | None:
    """Read `3-5`."""
    found = _NUMBER_RANGE.fullmatch(text) if len(text) <= 5 else None
    if not found or int(found["first"]) >= int(found["second"]):
        return None
    return int(found["first"]), int(found["second"])


def read_year_range(text: str) -> tuple[int, int] | None:
    """Read `2019-2021` or `2023-24`."""
    found = _YEAR_RANGE.fullmatch(text) if len(text) <= 9 else None
    if not found:
        return None
    first, second = int(found["first"]), int(found["second"])
    second += first // 100 * 100 if second < 100 else 0
    return (first, second) if first < second else None


def _valid(year: int | None, month: int, day: int | None) -> CalendarDate | None:
    """Return the date; its month if the month has no such day, which is a slip; None if there is no such month."""
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return CalendarDate(year, month, day)


def _minutes(offset: str | None) -> int | None:
    if not offset or offset == "z":
        return None if not offset else 0
    hours, minutes = int(offset[1:3]), int(offset[-2:])
    return (1 if offset[0] == "+" else -1) * (hours * 60 + minutes)
