"""Quotes what a person said, with its day."""

from __future__ import annotations

from datetime import date, tzinfo

from gaia_memory.models import REMEMBERED_SOURCES, Fact, to_local_time

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def format_day(day: date) -> str:
    """Return a day as `3 March 2026`."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def name_day(day: date, today: date) -> str:
    """Return the name of a day of the last week, and the date of any other."""
    return _WEEKDAYS[day.weekday()] if 0 <= (today - day).days < len(_WEEKDAYS) else format_day(day)


def quote_fact(fact: Fact, zone: tzinfo | None) -> str:
    """Return a fact for a profile: a sentence of a conversation with its day, what was remembered as it is."""
    if fact.source in REMEMBERED_SOURCES:
        return fact.text
    return f'{format_day(to_local_time(fact.last_said_at, zone).date())}: "{fact.text}"'
