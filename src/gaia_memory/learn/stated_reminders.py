"""Reads when a fact is due: in a text that asks for a reminder, or in a model's answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import TypedDict
from zoneinfo import ZoneInfo

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.dates import Bound, DateMention, Frequency, Grain, Recurrence, read
from gaia_memory.language.dates.reminder_requests import asks_for_reminder
from gaia_memory.models import ExtractedFact, next_occurrence, parse_recurrence, to_local_time


class DueFields(TypedDict, total=False):
    """The fields of a fact that belong to its due date."""

    due_at: datetime
    due_zone: str | None
    due_all_day: bool
    every: str | None


_TIMED_GRAINS = (Grain.MINUTE, Grain.HOUR, Grain.PART_OF_DAY)
_FREQUENCIES: Mapping[str, str] = {
    "daily": r"daily|täglich|quotidien\w*|tous les jours|diariamente",
    "weekly": r"weekly|wöchentlich|chaque semaine|semanalmente",
    "monthly": r"monthly|monatlich|chaque mois|mensualmente",
    "yearly": r"yearly|annually|jährlich|chaque année|anualmente",
}
_FIRST_TIME = re.compile(
    r"\W*(?:(?:the|das|la) )?(?:next|first|nächstes mal|erstmals|prochaine fois|próxima vez)\b(?: time)?\W*",
    re.IGNORECASE,
)
"""What stands between a recurrence and its first date: "every 4 weeks, next on Wednesday"."""
_LIST_JOIN = re.compile(r"\s*(?:,|&|,?\s*\b(?:and|und|et|y)\b)\s*", re.IGNORECASE)


def read_reminder(text: str, said_at: datetime, zone: tzinfo | None) -> DueFields:
    """Return the due date of a text that asks for a reminder; nothing if it does not, or names no time to come.

    `said_at` is when it was said, and `zone` where, None for this machine's.
    """
    if not asks_for_reminder(text):
        return {}
    local = _localize(said_at, zone)
    for mention in _begin_recurrence(read(text, local, local.tzinfo or "UTC"), text, local):
        if due := _due_fields(mention, text, local):
            return due
    return {}


def read_appointment(text: str, said_at: datetime, zone: tzinfo | None) -> DueFields:
    """Return the due date of a note such as "dentist on Friday at 9": its one date, if that has a day and a time."""
    if due := read_reminder(text, said_at, zone):
        return due
    local = _localize(said_at, zone)
    mentions = read(text, local, local.tzinfo or "UTC")
    if len(mentions) != 1 or not mentions[0].has_time or mentions[0].recurrence:
        return {}
    [mention] = mentions
    last = (read(text, local, local.tzinfo or "UTC", direction="past") or mentions)[0]
    # "At 9" alone is the next or the last one, a day apart: a habit rather than an appointment.
    names_no_day = timedelta(hours=20) < mention.start - last.start < timedelta(hours=30)
    return {} if names_no_day or mention.bound is not Bound.WITHIN else _due_fields(mention, text, local)


def lists_dates(text: str, said_at: datetime, zone: tzinfo | None) -> bool:
    """Return whether a text lists dates, such as "on Tuesday and Thursday", of which only one can be the due date."""
    local = _localize(said_at, zone)
    days = [each for each in read(text, local, local.tzinfo or "UTC") if each.bound is Bound.WITHIN]
    return any(_LIST_JOIN.fullmatch(text, one.span[1], other.span[0]) for one, other in pairwise(days))


def take_due_date(item: ExtractedFact, said_at: datetime, zone: tzinfo | None) -> DueFields:
    """Return the due date of an extracted fact, from the model or its text; an unusable one costs nobody the fact."""
    if item.due_at is None:
        return read_reminder(item.text, said_at, zone)
    local = _localize(said_at, zone)
    is_day = not isinstance(item.due_at, datetime)
    due_at = item.due_at if isinstance(item.due_at, datetime) else datetime.combine(item.due_at, time())
    if due_at.tzinfo is None:
        due_at = due_at.replace(tzinfo=local.tzinfo)
    if due_at + timedelta(days=is_day) <= local:
        return read_reminder(item.text, said_at, zone)
    return _fields(due_at, is_all_day=is_day, every=_usable(item.every))


def _begin_recurrence(mentions: list[DateMention], text: str, local: datetime) -> list[DateMention]:
    """Return the recurrence alone, from the date on that the text begins it with; all dates if there is none."""
    recurring = next((each for each in mentions if each.recurrence), None)
    if recurring is None:
        return mentions
    lead = _FIRST_TIME.match(text, recurring.span[1])
    for first in mentions:
        is_next = lead is not None and lead.start() <= first.span[0] <= lead.end()
        if first.recurrence or first.start <= local or not (is_next or first.bound is Bound.SINCE):
            continue
        midnight = first.start.replace(hour=0, minute=0)
        begun = [each for each in read(text, midnight, local.tzinfo or "UTC") if each.span == recurring.span]
        if not first.has_time or recurring.has_time:
            return begun
        time_of_day = first.start.time()
        return [
            replace(each, start=datetime.combine(each.start, time_of_day, each.start.tzinfo), has_time=True)
            for each in begun
        ]
    return mentions


def _due_fields(mention: DateMention, text: str, local: datetime) -> DueFields:
    is_all_day = not mention.has_time and mention.grain not in _TIMED_GRAINS
    every = _every_of(mention.recurrence) if mention.recurrence else _frequency_in(text)
    if (mention.recurrence and every is None) or mention.lacks_its_day(text):
        return {}
    due_at = mention.start
    if is_all_day and mention.end > local:
        # "This week" began before today.
        due_at = max(due_at, local.replace(hour=0, minute=0, second=0, microsecond=0))
    elif due_at <= local:
        following = next_occurrence(due_at, every, local.tzinfo, local) if every else None
        if following is None:
            return {}
        due_at, every = following[0].astimezone(local.tzinfo), following[1]
    return _fields(due_at, is_all_day=is_all_day, every=every)


def _fields(due_at: datetime, *, is_all_day: bool, every: str | None) -> DueFields:
    zone = due_at.tzinfo.key if isinstance(due_at.tzinfo, ZoneInfo) else None
    return {"due_at": due_at, "due_zone": zone, "due_all_day": is_all_day, "every": every}


def _every_of(recurrence: Recurrence) -> str | None:
    """Return a recurrence as a fact has it: the date tells day and time, unless there are several days."""
    if recurrence.frequency is Frequency.HOURLY:
        return None
    if recurrence.interval == 1 and len(recurrence.weekdays) <= 1:
        return recurrence.frequency.lower()
    return _usable(replace(recurrence, at=None).rrule)


def _frequency_in(text: str) -> str | None:
    found = (every for every, words in _FREQUENCIES.items() if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE))
    return next(found, None)


def _usable(every: object) -> str | None:
    try:
        return None if every is None else parse_recurrence("every", every)
    except InvalidInputError:
        return None


def _localize(said_at: datetime, zone: tzinfo | None) -> datetime:
    """Return a time in the zone of the speaker, which knows changes of clocks, too, where it is this machine's."""
    local = to_local_time(said_at, zone)
    if zone is not None or local is said_at:
        return local
    # Late: only without a zone.
    from dateutil.tz import tzlocal

    return said_at.astimezone(tzlocal())
