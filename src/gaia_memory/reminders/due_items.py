"""When a fact is due: before that it is shown, after a reminder it is silent until then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, tzinfo

from gaia_memory.models import Fact, last_occurrence, load_time_zone, next_occurrence


def list_due(facts: Iterable[Fact], now: datetime, horizon: datetime, zone: tzinfo | None) -> list[Fact]:
    """Return the facts that are due up to `horizon` or overdue, soonest first, each with the time it is due at.

    Left out are those the person was reminded of: before they are due until then, afterwards for good. `zone` is that
    of facts without one, None for this machine's. The first use of a zone reads a file.
    """
    due = [replace(fact, due_at=at) for fact in facts if (at := find_due_time(fact, now, zone)) and at <= horizon]
    return sorted(due, key=lambda fact: (fact.due_at, fact.created_at, fact.id))


def find_due_time(fact: Fact, now: datetime, zone: tzinfo | None) -> datetime | None:
    """Return when a fact is due; None for one that is done, silent or never due.

    A recurring fact is due at the last time up to now that nobody was reminded of, otherwise at the next one.
    """
    due_at, reminded_at = fact.due_at, fact.reminded_at
    if due_at is None:
        return None
    if reminded_at is not None and reminded_at >= due_at:
        following = None
        if fact.every is not None:
            following = next_occurrence(due_at, fact.every, zone_of(fact, zone), reminded_at)
        if following is None:
            return None
        due_at, reminded_at = following[0], None
    if fact.every is not None and due_at <= now:
        due_at = last_occurrence(due_at, fact.every, zone_of(fact, zone), now)
    return None if reminded_at is not None and now < due_at else due_at


def zone_of(fact: Fact, zone: tzinfo | None) -> tzinfo | None:
    """Return the zone in which a fact comes back at the same time of day."""
    return zone if fact.due_zone is None else load_time_zone(fact.due_zone)
