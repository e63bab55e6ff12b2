"""The times of a fact: when it is due, by a date in words or a model's answer, and until when it holds."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import TypedDict
from zoneinfo import ZoneInfo

from gaia_memory.language.dates import DateMention
from gaia_memory.models import ExtractedFact, next_occurrence, to_local_time


class DueFields(TypedDict, total=False):
    """The fields of a fact that belong to its due date."""

    due_at: datetime
    due_zone: str | None
    due_all_day: bool
    every: str | None


def due_of_mention(mention: DateMention, now: datetime) -> DueFields:
    """Return when something is due at a date in a text; nothing if that is over at the local time `now`."""
    due_at, is_all_day = mention.start, mention.grain not in ("time", "part")
    if (mention.end if is_all_day else due_at) <= now and mention.every is None:
        return {}
    if is_all_day:
        # "This week" began before today.
        due_at = max(due_at, now.replace(hour=0, minute=0, second=0, microsecond=0))
    return _due(due_at, mention.every, now, is_all_day=is_all_day)


def due_of_answer(item: ExtractedFact, said_at: datetime, zone: tzinfo | None) -> DueFields:
    """Return when a fact is due by a model's answer; nothing if that was over when it was said."""
    if item.due_at is None:
        return {}
    local = to_local_time(said_at, zone)
    is_day = not isinstance(item.due_at, datetime)
    due_at = to_moment(item.due_at, local.tzinfo)
    return {} if due_at + timedelta(days=is_day) <= local else _due(due_at, item.every, local, is_all_day=is_day)


def to_moment(stated: date | datetime, zone: tzinfo | None, *, at: time = time()) -> datetime:
    """Return a stated day at a local time, or a stated time, which is local unless it names a zone."""
    moment = stated if isinstance(stated, datetime) else datetime.combine(stated, at)
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment


def _due(due_at: datetime, every: str | None, now: datetime, *, is_all_day: bool) -> DueFields:
    if every is not None and due_at + timedelta(days=is_all_day) <= now:
        following = next_occurrence(due_at, every, due_at.tzinfo, now)
        if following is None:
            return {}
        due_at, every = following[0].astimezone(due_at.tzinfo), following[1]
    zone = due_at.tzinfo.key if isinstance(due_at.tzinfo, ZoneInfo) else None
    return {"due_at": due_at, "due_zone": zone, "due_all_day": is_all_day, "every": every}
