"""Adds dates to relative expressions such as "tomorrow"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_COUNT = r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven)"
_PERIOD = r"(?P<unit>day|week|month|year)s?"
_WEEKDAY = rf"(?P<day>{'|'.join(_WEEKDAYS)})"

DateResolver = Callable[[re.Match[str], date], str]


def annotate_dates(sentence: str, today: date) -> str:
    """Return `sentence` with the date after each relative one: "tomorrow" becomes "tomorrow (2026-11-21)".

    `today` is the day of the conversation.
    """
    if re.search(r"\d{4}-\d{2}-\d{2}", sentence):
        return sentence
    for pattern, reading in _DATE_RULES:
        sentence = pattern.sub(lambda found, reading=reading: f"{found[0]} ({reading(found, today)})", sentence)  # type: ignore[misc]
    return sentence


def _pattern(words: str) -> re.Pattern[str]:
    # An expression before a parenthesis already has its date.
    return re.compile(rf"\b{words}\b(?!\s*\()", re.IGNORECASE)


def _day_offset(offset: int) -> DateResolver:
    return lambda _, today: (today + timedelta(days=offset)).isoformat()


def _counted_offset(sign: int) -> DateResolver:
    def resolve(found: re.Match[str], today: date) -> str:
        count = found["count"].lower()
        number = sign * (int(count) if count.isdigit() else _NUMBERS[count])
        return _shift(today, number, found["unit"].lower())

    return resolve


def _adjacent_period(sign: int) -> DateResolver:
    def resolve(found: re.Match[str], today: date) -> str:
        unit = found["unit"].lower()
        if unit == "week":
            monday = today - timedelta(days=today.weekday()) + timedelta(weeks=sign)
            return f"the week of {monday.isoformat()}"
        return _shift(today, sign, unit)

    return resolve


def _shift(today: date, number: int, unit: str) -> str:
    if unit == "day":
        return (today + timedelta(days=number)).isoformat()
    if unit == "week":
        return (today + timedelta(weeks=number)).isoformat()
    if unit == "month":
        months = today.year * 12 + today.month - 1 + number
        return f"{months // 12:04d}-{months % 12 + 1:02d}"
    return str(today.year + number)


def _next_weekday(found: re.Match[str], today: date) -> str:
    days_ahead = (_WEEKDAYS.index(found["day"].lower()) - today.weekday()) % 7 or 7
    return (today + timedelta(days=days_ahead)).isoformat()


def _last_weekday(found: re.Match[str], today: date) -> str:
    days_back = (today.weekday() - _WEEKDAYS.index(found["day"].lower())) % 7 or 7
    return (today - timedelta(days=days_back)).isoformat()


_DATE_RULES: tuple[tuple[re.Pattern[str], DateResolver], ...] = (
    (_pattern(r"(?:the )?day after tomorrow"), _day_offset(2)),
    (_pattern(r"(?:the )?day before yesterday"), _day_offset(-2)),
    (_pattern(r"(?<!after )tomorrow(?: (?:morning|afternoon|evening|night))?"), _day_offset(1)),
    (_pattern(r"(?<!before )(?:yesterday(?: (?:morning|afternoon|evening))?|last night)"), _day_offset(-1)),
    (_pattern(r"(?:today|tonight|this (?:morning|afternoon|evening))"), _day_offset(0)),
    (_pattern(rf"in {_COUNT} {_PERIOD}"), _counted_offset(1)),
    (_pattern(rf"{_COUNT} {_PERIOD} ago"), _counted_offset(-1)),
    (_pattern(r"next (?P<unit>week|month|year)"), _adjacent_period(1)),
    (_pattern(r"last (?P<unit>week|month|year)"), _adjacent_period(-1)),
    (_pattern(r"this (?P<unit>week|month|year)"), _adjacent_period(0)),
    (_pattern(rf"(?:next|this|this coming) {_WEEKDAY}"), _next_weekday),
    (_pattern(rf"last {_WEEKDAY}"), _last_weekday),
)
