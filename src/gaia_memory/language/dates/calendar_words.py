"""The English words of dates, and what a number with its signs means: a date, a clock time, an ordinal."""

from __future__ import annotations

import re
from datetime import date, timedelta

MONTHS = {
    **{"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8},
    **{"september": 9, "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4},
    **{"jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12},
}
# Their names mean nothing else, so that they need no preposition.
PLAIN_MONTHS = frozenset(("january", "february", "july", "september", "october", "november", "december"))
WEEKDAYS = {"monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6}
ALL_WEEKDAYS = {
    **{"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6},
    **WEEKDAYS,
}
UNITS = {
    **{"minute": "minute", "minutes": "minute", "min": "minute", "mins": "minute", "hour": "hour", "hours": "hour"},
    **{"day": "day", "days": "day", "week": "week", "weeks": "week", "fortnight": "fortnight", "month": "month"},
    **{"months": "month", "year": "year", "years": "year"},
}
NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30},
}
DAY_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NAMED_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
FREQUENCIES = {"daily": "DAILY", "weekly": "WEEKLY", "monthly": "MONTHLY", "yearly": "YEARLY"}
ZONES = {
    **{"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8},
    **{"PDT": -7, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9, "AEST": 10, "AEDT": 11},
}
"""Hours to UTC of the abbreviations with one meaning; IST and BST have several."""

TOKEN = re.compile(r"\d(?:[\w:./+-]*\w)?|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\S")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?")
_NUMERIC = re.compile(r"(\d\d?)([/.])(\d\d?)\2(\d{4})")
_CLOCK = re.compile(r"(\d\d?)(?:([:.])(\d\d)(?::\d\d)?)?([ap]m)?(?:-\d[\d:]*([ap]m)?)?")
_DAYS = re.compile(r"(\d\d?)(?:-(\d\d?)|(st|nd|rd|th))?")


def to_date(year: int, month: int, day: int) -> date | None:
    """Return a day; None if the calendar has none."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def numeric_days(text: str) -> tuple[date, date] | None:
    """Return the day or month of 2026-03-27, 3/27/2026, 27.3.2026 or 2026-03; before a slash over 12 stands a day."""
    if found := _ISO_DATE.fullmatch(text):
        first = to_date(int(found[1]), int(found[2]), int(found[3] or 1))
        return (first, first + timedelta(days=1) if found[3] else add_months(first, 1)) if first else None
    if found := _NUMERIC.fullmatch(text):
        one, other = int(found[1]), int(found[3])
        day, month = (one, other) if found[2] == "." or one > 12 else (other, one)
        first = to_date(int(found[4]), month, day)
        return (first, first + timedelta(days=1)) if first else None
    return None


def clock_time(text: str) -> tuple[int, int, str] | None:
    """Return hour, minute and "am", "pm" or nothing of a token such as 9:30, 9pm, 9.30am or 9-11am."""
    found = _CLOCK.fullmatch(text)
    if found is None or not (found[4] or found[5] or found[2] == ":"):
        return None
    hour, minute, meridiem = int(found[1]), int(found[3] or 0), found[4] or found[5] or ""
    return (hour, minute, meridiem) if hour <= (12 if meridiem else 24) and minute < 60 else None


def day_numbers(text: str) -> tuple[int, int, bool] | None:
    """Return the first and last day of the month of a token such as 7, 7th or 3-5, and whether it is an ordinal."""
    found = _DAYS.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2] or found[1]) <= 31:
        return None
    return int(found[1]), int(found[2] or found[1]), found[3] is not None


def add_months(day: date, count: int) -> date:
    """Return the day that many months later, the last of a shorter month."""
    index = day.year * 12 + day.month - 1 + count
    first = date(index // 12, index % 12 + 1, 1)
    last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return min(first + timedelta(days=day.day - 1), last)
