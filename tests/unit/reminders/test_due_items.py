"""What is due: shown before, silent after a reminder until then, then shown until the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gaia_memory.models import Fact, Scope
from gaia_memory.reminders.due_items import find_due_time

NOW = datetime(2026, 3, 24, 12, tzinfo=UTC)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)


def fact(due_in, reminded_in=None, every=None, zone=None, name="x"):
    return Fact(
        id=name, scope=Scope("gaia", "ada"), text=name, source="remember", created_at=NOW - WEEK, updated_at=NOW,
        due_at=NOW + due_in, reminded_at=None if reminded_in is None else NOW + reminded_in, every=every, due_zone=zone,
    )  # fmt: skip


def due(found):
    at = find_due_time(found, NOW, UTC)
    return None if at is None else at - NOW


def test_a_fact_is_shown_until_a_reminder_and_again_when_it_is_due():
    """A reminder of the time before does not count for the time itself."""
    assert due(fact(HOUR)) == HOUR
    assert due(fact(HOUR, -DAY)) is None
    assert due(fact(-HOUR, -DAY)) == -HOUR
    assert due(fact(-HOUR, -HOUR)) is None
    assert due(fact(timedelta(), -DAY)) == timedelta()


def test_a_missed_recurring_fact_is_due_at_the_last_time_that_passed():
    """However often it was missed; a reminder moves it past itself, also one that an import brings."""
    assert due(fact(-3 * WEEK - HOUR, every="weekly")) == -HOUR
    assert due(fact(-WEEK - HOUR, -WEEK, every="weekly")) == -HOUR
    assert due(fact(-WEEK - HOUR, -WEEK - 2 * HOUR, every="weekly")) == -HOUR
    assert due(fact(-HOUR, timedelta(), every="weekly")) == WEEK - HOUR
    assert due(fact(2 * HOUR, -HOUR, every="weekly")) is None
    assert due(fact(-HOUR, timedelta(), every="FREQ=DAILY;COUNT=1")) is None
