"""The ledger after a clock error: an expiry too far ahead is ignored."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from gaia_memory.learning.circuit_breaker import failure_backoff_seconds, outage_backoff_seconds
from gaia_memory.ledger import Ledger
from gaia_memory.ledger.rows import is_unset_or_expired, where_session
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import SessionKey, TurnRequest
from gaia_memory.models.quiet_conversations import (
    CLEAR_LEASE_SECONDS,
    LEASE_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_CLOCK_SKEW_SECONDS,
    TURN_LEASE_SECONDS,
    is_in_force,
)
from support.databases import database

__all__ = ["database"]

ledger = Ledger()
KEY = SessionKey("gaia", "itay", "itay:cli")
ME = "elsewhere:1:1.00/a"
YOU = "elsewhere:2:2.00/b"
NOW = 1_000_000.0
YEAR = 365 * 86_400.0
MARKS = [
    (c.c.active_until, TURN_LEASE_SECONDS),
    (c.c.lease_until, LEASE_SECONDS),
    (c.c.clearing_until, CLEAR_LEASE_SECONDS),
    (c.c.retry_at, MAX_BACKOFF_SECONDS),
]


async def speak(database, *, now):
    """Begin and end a turn."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, KEY, TurnRequest(owner=ME), now=now, lease_seconds=TURN_LEASE_SECONDS)
        await ledger.end_turn(tx, KEY, now=now, owner=ME)


async def claim(database, owner, *, now):
    """Try to take the lease."""
    async with database.transaction() as tx:
        return await ledger.claim(tx, KEY, owner, now=now, lease_seconds=LEASE_SECONDS)


async def due(database, *, now, idle=1800.0):
    """Return the due conversations, as a sweep does."""
    async with database.transaction() as tx:
        await ledger.expire(tx, now=now)
    async with database.read_transaction() as tx:
        found = await ledger.due(tx, quiet_since=now - idle, limit=9, apps=["gaia"])
    return [one.key for one in found]


async def row(database):
    """Return the row of the conversation."""
    async with database.read_transaction() as tx:
        return await ledger.row(tx, KEY)


@pytest.mark.parametrize(("mark", "longest"), MARKS, ids=[mark.name for mark, _ in MARKS])
async def test_a_mark_is_in_force_from_now_up_to_its_maximum_duration_ahead(database, mark, longest):
    """Python and both databases agree, allowing for the maximum clock skew between hosts."""
    await speak(database, now=NOW)
    ends = {None: False, NOW - YEAR: False, NOW: False, NOW + 0.5: True, NOW + longest: True}
    ends |= {
        NOW + longest + MAX_CLOCK_SKEW_SECONDS: True,
        NOW + longest + MAX_CLOCK_SKEW_SECONDS + 0.5: False,
        NOW + YEAR: False,
    }
    for until, holds in ends.items():
        async with database.transaction() as tx:
            await tx.execute(update(c).where(where_session(KEY)).values({mark.name: until}))
            found = (await tx.execute(select(c.c.app).where(is_unset_or_expired(mark, NOW)))).all()

        assert (not found) == holds, until
        assert is_in_force(until, now=NOW, max_seconds=longest) == holds, until


def test_no_backoff_exceeds_the_maximum_that_the_ledger_accepts():
    """Otherwise the ledger would ignore such a postponement."""
    assert all(failure_backoff_seconds(99) <= MAX_BACKOFF_SECONDS for _ in range(50))
    assert all(outage_backoff_seconds(99, retry_after=1e9) <= MAX_BACKOFF_SECONDS for _ in range(50))


async def test_a_turn_that_began_in_the_future_counts_as_ended(database):
    """Its process was killed, or the turn cancelled, before the clock was set back."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, KEY, TurnRequest(owner=ME), now=NOW + YEAR, lease_seconds=TURN_LEASE_SECONDS)
    assert await due(database, now=NOW) == []
    assert (await row(database)).turn.touched == NOW
    assert await due(database, now=NOW + 1800.0) == [KEY]
    assert await claim(database, YOU, now=NOW + 1800.0) is not None


@pytest.mark.parametrize("how", ["claim", "alone"])
async def test_a_turn_in_the_future_blocks_nothing(database, how):
    """Neither learning nor another turn waits for it."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, KEY, TurnRequest(owner=ME), now=NOW + YEAR, lease_seconds=TURN_LEASE_SECONDS)
        if how == "claim":
            assert await ledger.claim(tx, KEY, YOU, now=NOW, lease_seconds=LEASE_SECONDS) is not None
        else:
            begun = await ledger.begin_turn(
                tx, KEY, TurnRequest(owner=YOU, is_exclusive=True), now=NOW, lease_seconds=TURN_LEASE_SECONDS
            )
            assert begun.turn.active_owner == YOU


@pytest.mark.parametrize("jump", [YEAR, 86_400.0])
async def test_a_lease_from_the_future_is_free(database, jump):
    """Another owner can claim the conversation, and a sweep finds it."""
    await speak(database, now=NOW - 3600.0)
    assert await claim(database, ME, now=NOW + jump) is not None
    assert await claim(database, YOU, now=NOW) is not None
    async with database.transaction() as tx:
        assert not await ledger.renew(tx, KEY, ME, now=NOW, lease_seconds=LEASE_SECONDS)
        await ledger.release(tx, KEY, YOU)
    await claim(database, ME, now=NOW + jump)
    assert await due(database, now=NOW) == [KEY]


async def test_a_clear_from_the_future_blocks_no_turn(database):
    """It blocks no other clear either."""
    await speak(database, now=NOW - 3600.0)
    await claim(database, ME, now=NOW + YEAR)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=NOW + YEAR, seconds=CLEAR_LEASE_SECONDS)
    await claim(database, YOU, now=NOW)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, YOU, turn_no=1, now=NOW, seconds=CLEAR_LEASE_SECONDS)
        await tx.execute(update(c).where(where_session(KEY)).values(clearing_until=NOW + YEAR))
        begun = await ledger.begin_turn(tx, KEY, TurnRequest(owner=ME), now=NOW, lease_seconds=TURN_LEASE_SECONDS)

    assert (begun.clearing.owner, begun.turn.turn_no) == (None, 2)


async def test_a_retry_scheduled_by_a_clock_in_the_future_is_due_now(database):
    """It does not wait for a year; a retry in an hour is still due in an hour."""
    await speak(database, now=NOW - 3600.0)
    for now, found in [(NOW + YEAR, [KEY]), (NOW, [])]:
        await claim(database, ME, now=now)
        async with database.transaction() as tx:
            await ledger.record_failure(tx, KEY, ME, error="x", now=now, retry_at=now + MAX_BACKOFF_SECONDS)
        assert await due(database, now=NOW) == found
    assert await due(database, now=NOW + MAX_BACKOFF_SECONDS) == [KEY]


async def test_activity_in_the_future_counts_as_activity_now(database):
    """It is due one idle time from now, neither in a year nor at once: it may have been a moment ago."""
    await speak(database, now=NOW + YEAR)
    assert await due(database, now=NOW) == []
    assert await due(database, now=NOW + 1799.0) == []
    assert await due(database, now=NOW + 1800.0) == [KEY]


async def test_a_clock_that_is_slightly_ahead_is_trusted(database):
    """The clocks of two hosts are never exactly equal."""
    await speak(database, now=NOW + MAX_CLOCK_SKEW_SECONDS - 1.0)
    await due(database, now=NOW)

    assert (await row(database)).turn.touched == NOW + MAX_CLOCK_SKEW_SECONDS - 1.0
