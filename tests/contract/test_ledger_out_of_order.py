"""The ledger remembers turns that were said while the clock was behind."""

from __future__ import annotations

import pytest

from gaia_memory.ledger import SqlLedger
from gaia_memory.models import EventPosition, Invocation, SessionKey, TurnRequest
from support.databases import database

__all__ = ["database"]

ledger = SqlLedger()
KEY = SessionKey("gaia", "itay", "itay:cli")
OTHER = SessionKey("gaia", "noa", "noa:cli")
ME = "elsewhere:1:1.00/a"


async def say(database, invocation, began, *, key=KEY, now=None):
    """Begin and end a turn."""
    async with database.transaction() as tx:
        at = began if now is None else now
        said = Invocation(invocation, began)
        await ledger.begin_turn(tx, key, TurnRequest(owner=ME, invocation=said), now=at, lease_seconds=900)
        await ledger.end_turn(tx, key, now=at, owner=ME)


async def claim(database, *, now, key=KEY):
    """Take the lease."""
    async with database.transaction() as tx:
        assert await ledger.claim(tx, key, ME, now=now, lease_seconds=30) is not None


async def learn(database, *, now, to, key=KEY):
    """Move the watermark as a consolidation does."""
    await claim(database, now=now, key=key)
    async with database.transaction() as tx:
        assert await ledger.advance_watermark(tx, key, ME, expected=None, new_watermark=to, turn_count=1, now=now)
        await ledger.release(tx, key, ME, is_done=True)


async def clear(database, *, now, rewound):
    """Clear the conversation as a consolidation does."""
    await claim(database, now=now)
    async with database.transaction() as tx:
        turn_no = (await ledger.row(tx, KEY)).turn.turn_no
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=turn_no, now=now, seconds=5)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=now, is_rewound=rewound)
        await ledger.release(tx, KEY, ME)


async def late(database, key=KEY):
    """Return the remembered turns."""
    async with database.read_transaction() as tx:
        return await ledger.out_of_order_turns(tx, key)


async def test_a_turn_before_the_watermark_is_remembered_with_when_it_began(database):
    """One well behind it is not; nor is anything before something was learned."""
    await say(database, "i\x001", 100.0)
    assert await late(database) == {}
    await learn(database, now=2_000.0, to=EventPosition(110.0, "e"))
    await say(database, "i\x002", 105.0)
    await say(database, "i3", 110.5)
    await say(database, "i4", 112.0)
    await say(database, "i5", 105.0, key=OTHER)

    assert await late(database) == {"i\x002": 105.0, "i3": 110.5}
    assert await late(database, OTHER) == {}


async def test_a_turn_before_a_rewind_of_ours_is_remembered(database):
    """It lies before the event that took everything back; a session that is deleted begins anew."""
    await say(database, "i1", 100.0)
    await learn(database, now=2_000.0, to=EventPosition(110.0, "e"))
    await clear(database, now=2_000.0, rewound=True)
    await say(database, "i2", 1_500.0)
    await say(database, "i3", 2_002.0)
    assert await late(database) == {"i2": 1_500.0}
    await clear(database, now=3_000.0, rewound=False)
    await say(database, "i4", 2_500.0)

    assert await late(database) == {}


async def test_a_turn_that_begins_while_somebody_learns_is_remembered(database):
    """The watermark may move past it."""
    await say(database, "i1", 100.0)
    await claim(database, now=2_000.0)
    await say(database, "i2", 2_001.0)

    assert await late(database) == {"i2": 2_001.0}


async def test_a_turn_in_which_the_clock_was_set_back_is_remembered_from_there(database):
    """What was noted before counts as well: the earlier beginning of the two."""
    await say(database, "i1", 100.0)
    for began, kept in [(50.0, 50.0), (80.0, 50.0), (20.0, 20.0)]:
        async with database.transaction() as tx:
            await ledger.record_out_of_order(tx, KEY, Invocation("i1", began))
        assert await late(database) == {"i1": kept}


async def test_what_was_learned_of_them_is_remembered_no_more(database):
    """And counted, under an own lease; what came in between stays."""
    await say(database, "i1", 100.0)
    await learn(database, now=2_000.0, to=EventPosition(110.0, "e"))
    for number in (2, 3, 4):
        await say(database, f"i{number}", 100.0 + number)
    async with database.transaction() as tx:
        assert not await ledger.complete_out_of_order(tx, KEY, ME, invocations=["i2", "i3"], turn_count=2)
    assert set(await late(database)) == {"i2", "i3", "i4"}
    await claim(database, now=4_000.0)
    async with database.transaction() as tx:
        assert await ledger.complete_out_of_order(tx, KEY, ME, invocations=["i2", "i3"], turn_count=2)
        learned = await ledger.row(tx, KEY)

    assert set(await late(database)) == {"i4"}
    assert (learned.progress.learned_turns, learned.progress.is_learned) == (3, False)


@pytest.mark.parametrize("meanwhile", [False, True])
async def test_a_clear_leaves_nothing_to_remember_but_of_a_turn_that_came_into_it(database, meanwhile):
    """Where nothing is learned, what was said is gone with it."""
    await say(database, "i1", 100.0)
    await learn(database, now=2_000.0, to=EventPosition(110.0, "e"))
    await say(database, "i2", 105.0)
    await claim(database, now=3_000.0)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=2, now=3_000.0, seconds=5)
        if meanwhile:
            said = Invocation("i3", 106.0)
            await ledger.begin_turn(
                tx, KEY, TurnRequest(owner=ME, invocation=said, waits_for_clear=False), now=3_001.0, lease_seconds=900
            )
        await ledger.end_clearing(tx, KEY, ME, cleared_at=3_002.0, is_rewound=True)

    assert set(await late(database)) == ({"i2", "i3"} if meanwhile else set())


async def test_a_turn_that_has_to_wait_is_not_remembered_before_it_begins(database):
    """It asks again."""
    await say(database, "i1", 100.0)
    await learn(database, now=2_000.0, to=EventPosition(110.0, "e"))
    await claim(database, now=3_000.0)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=3_000.0, seconds=5)
        said = Invocation("i2", 105.0)
        waiting = await ledger.begin_turn(
            tx, KEY, TurnRequest(owner=ME, invocation=said), now=3_001.0, lease_seconds=900
        )

    assert waiting.clearing.owner == ME
    assert await late(database) == {}
