"""What a reminder or another due date changes of a fact."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo

from gaia_memory.models import FactChanges, NewFact, load_time_zone, next_occurrence, require_future_due
from gaia_memory.models.new_fact import require_known_zone


def apply_reminder(fact: NewFact, changes: FactChanges, *, now: datetime, zone: tzinfo | None) -> NewFact:
    """Return a corrected fact, a recurring one of which the person was reminded when it was due at its next time.

    `changes` are those of the correction; `zone` is that of facts without one, None for this machine's. May read the
    file of a zone.

    Raises:
        InvalidInputError: the new due date is in the past, or its zone is unknown.
    """
    require_known_zone(fact)
    if changes.get("due_at"):
        require_future_due(fact, now)
    if fact.due_at is None or fact.every is None or not changes.get("reminded_at"):
        return fact
    if fact.reminded_at is None or fact.reminded_at < fact.due_at:
        return fact
    its_zone = zone if fact.due_zone is None else load_time_zone(fact.due_zone)
    following = next_occurrence(fact.due_at, fact.every, its_zone, fact.reminded_at)
    if following is None:
        return fact
    due_at, every = following
    return replace(fact, due_at=due_at, every=every, reminded_at=None)
