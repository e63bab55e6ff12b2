"""A worker that lost its lease cannot change the conversation; the state after a clear."""

from __future__ import annotations

import pytest

from gaia_memory.ledger import Ledger
from gaia_memory.models import EventPosition, SessionKey, TurnRequest
from support.databases import database

__all__ = ["database"]

ledger = Ledger()
KEY = SessionKey("gaia", "itay", "itay:cli")
ME = "elsewhere:1:1.00/a"
YOU = "elsewhere:2:2.00/b"


async def row(database):
    """Return the row of the conversation."""
    async with database.read_transaction() as tx:
        return await ledger.row(tx, KEY)


async def speak(database, *, now=0.0):
    """Begin and end a turn."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, KEY, TurnRequest(owner=ME), now=now, lease_seconds=900)
        await ledger.end_turn(tx, KEY, now=now, owner=ME)


async def claim(database, owner, *, now):
    """Take the lease."""
    async with database.transaction() as tx:
        return await ledger.claim(tx, KEY, owner, now=now, lease_seconds=30)


LATE = {
    "renew": lambda tx: ledger.renew(tx, KEY, ME, now=141.0, lease_seconds=30),
    "advance": lambda tx: ledger.advance_watermark(
        tx, KEY, ME, expected=None, new_watermark=EventPosition(1.0, "e"), turn_count=1
    ),
    "failed": lambda tx: ledger.record_failure(tx, KEY, ME, error="x", now=141.0, retry_at=999.0, is_parked=True),
    "release": lambda tx: ledger.release(tx, KEY, ME),
    "release as done": lambda tx: ledger.release(tx, KEY, ME, is_done=True),
    "release all": lambda tx: ledger.release_all(tx, ME),
    "begin to clear": lambda tx: ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=141.0, seconds=5),
    "end a clear": lambda tx: ledger.end_clearing(tx, KEY, ME, cleared_at=141.0),
    "end a refused clear": lambda tx: ledger.end_clearing(tx, KEY, ME, cleared_at=None),
}


@pytest.mark.parametrize("late", LATE)
async def test_a_worker_that_lost_its_lease_can_change_nothing(database, late):
    """Another worker took over after the lease expired and is clearing the conversation."""
    await speak(database)
    await claim(database, ME, now=100.0)
    await claim(database, YOU, now=140.0)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, YOU, turn_no=1, now=140.0, seconds=5)
    before = await row(database)
    async with database.transaction() as tx:
        assert not await LATE[late](tx)

    assert await row(database) == before


async def test_a_clear_that_ended_after_the_lease_was_lost_is_recorded(database):
    """The session is gone: hosts that loaded it earlier must know, and no work is left."""
    await speak(database)
    await claim(database, ME, now=100.0)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=100.0, seconds=5)
    await claim(database, YOU, now=140.0)
    async with database.transaction() as tx:
        await ledger.end_clearing(tx, KEY, ME, cleared_at=141.0)
    after = await row(database)

    assert (after.clearing.cleared_at, after.clearing.owner, after.lease.owner) == (141.0, None, YOU)


async def test_a_turn_during_a_hanging_clear_is_still_due_afterwards(database):
    """It stopped waiting for the clear, so its message came after what was cleared."""
    await speak(database)
    await claim(database, ME, now=100.0)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=100.0, seconds=5)
        await ledger.begin_turn(tx, KEY, TurnRequest(owner=YOU, waits_for_clear=False), now=104.0, lease_seconds=900)
        await ledger.end_turn(tx, KEY, now=104.0, owner=YOU)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=105.0)
        await ledger.release(tx, KEY, ME)
        await ledger.expire(tx, now=200.0)
        found = await ledger.due(tx, quiet_since=150.0, limit=9, apps=["gaia"])

    assert [one.key for one in found] == [KEY]


async def test_a_conversation_stays_pending_until_its_last_chunk_is_learned(database):
    """If a process dies between two chunks, the rest is still reported as pending."""
    await speak(database)
    await claim(database, ME, now=100.0)

    async def step(read, to, *, is_all):
        async with database.transaction() as tx:
            assert await ledger.advance_watermark(
                tx, KEY, ME, expected=read, new_watermark=to, turn_count=1, is_complete=is_all
            )
            return [one.key for one in await ledger.pending(tx, user="itay", app="gaia")]

    first, last = EventPosition(1.0, "e1"), EventPosition(2.0, "e2")
    assert await step(None, first, is_all=False) == [KEY]
    assert not (await row(database)).progress.is_learned
    assert await step(first, last, is_all=True) == []
    assert (await row(database)).progress.is_learned


async def clear(database, *, now, rewound):
    """Run a turn and clear the conversation."""
    await speak(database, now=now - 1)
    assert await claim(database, ME, now=now) is not None
    async with database.transaction() as tx:
        turn_no = (await ledger.row(tx, KEY)).turn.turn_no
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=turn_no, now=now, seconds=5)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=now, is_rewound=rewound)
        await ledger.release(tx, KEY, ME)


async def to_purge(database, *, before, apps=("gaia",)):
    """Return the conversations to purge."""
    async with database.read_transaction() as tx:
        return [one.key for one in await ledger.find_purgeable(tx, before=before, limit=9, apps=apps)]


async def test_a_rewound_conversation_is_purgeable_once_it_is_old_enough(database):
    """A new turn makes it not purgeable, and a full clear ends it."""
    await clear(database, now=100.0, rewound=True)
    assert (await row(database)).clearing.rewound_at == 100.0
    assert await to_purge(database, before=99.0) == []
    assert await to_purge(database, before=100.0) == [KEY]
    assert await to_purge(database, before=100.0, apps=["other"]) == []
    await clear(database, now=200.0, rewound=True)
    assert (await row(database)).clearing.rewound_at == 100.0
    assert await to_purge(database, before=199.0) == []
    assert await to_purge(database, before=200.0) == [KEY]
    await speak(database, now=300.0)
    assert await to_purge(database, before=300.0) == []
    await clear(database, now=400.0, rewound=False)
    assert (await row(database)).clearing.rewound_at is None
    assert await to_purge(database, before=999.0) == []
