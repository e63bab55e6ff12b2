"""The ledger distinguishes leases of this owner, of others and of dead processes."""

from __future__ import annotations

import pytest

from gaia_memory.ledger import Ledger, is_owner_dead, mark_dead, new_owner, process_name
from gaia_memory.models import SessionKey, TurnRequest
from support.databases import database

__all__ = ["database"]

ledger = Ledger()
KEY = SessionKey("gaia", "itay", "itay:cli")
ME = "elsewhere:1:1.00/a"
YOU = "elsewhere:2:2.00/b"
DEAD = process_name().rpartition("-")[0] + "-1/a1b2"


async def begin(database, owner=ME, *, now=10.0, active=900.0, **how):
    """Begin a turn."""
    async with database.transaction() as tx:
        return await ledger.begin_turn(tx, KEY, TurnRequest(owner=owner, **how), now=now, lease_seconds=active)


async def row(database):
    """Return the row of the conversation."""
    async with database.read_transaction() as tx:
        return await ledger.row(tx, KEY)


async def claim(database, owner=YOU, *, now=20.0):
    """Try to take a lease."""
    async with database.transaction() as tx:
        return await ledger.claim(tx, KEY, owner, now=now, lease_seconds=30)


async def due(database, *, now=20.0):
    """Return the due conversations, whether or not they are quiet."""
    async with database.transaction() as tx:
        await ledger.expire(tx, now=now)
    async with database.read_transaction() as tx:
        return [one.key for one in await ledger.due(tx, quiet_since=None, limit=9, apps=["gaia"])]


@pytest.mark.parametrize("hold", [False, True])
async def test_an_exclusive_turn_waits_while_another_owner_has_a_turn(database, hold):
    """Nothing is written and the row names the other owner; the same owner's turn or an expired one is no obstacle."""
    await begin(database)
    async with database.transaction() as tx:
        ask = ledger.reserve_turn if hold else ledger.begin_turn
        other = await ask(tx, KEY, TurnRequest(owner=YOU, is_exclusive=True), now=20.0, lease_seconds=900)
    own = await begin(database, ME, now=20.0, is_exclusive=True)
    late = await begin(database, YOU, now=920.0, is_exclusive=True)

    assert (other.turn.active_owner, other.turn.active_until, other.turn.turn_no) == (ME, 910.0, 1)
    assert (own.turn.active_owner, own.turn.turn_no) == (ME, 2)
    assert (late.turn.active_owner, late.turn.active_until, late.turn.turn_no) == (YOU, 1820.0, 3)


async def test_a_non_exclusive_turn_takes_over_the_activity_mark(database):
    """After that the first owner can no longer change the mark, only the time of the last activity."""
    await begin(database, ME)
    taken = await begin(database, YOU, now=20.0)
    async with database.transaction() as tx:
        await ledger.renew_turn(tx, KEY, now=30.0, lease_seconds=900, owner=ME)
        await ledger.release_turn(tx, KEY, expires_at=taken.turn.active_until, owner=ME)
        await ledger.end_turn(tx, KEY, now=40.0, owner=ME)
    left = await row(database)
    async with database.transaction() as tx:
        await ledger.end_turn(tx, KEY, now=50.0, owner=YOU)
    ended = await row(database)

    assert (taken.turn.active_owner, taken.turn.turn_no) == (YOU, 2)
    assert (left.turn.active_owner, left.turn.active_until, left.turn.touched) == (YOU, 920.0, 40.0)
    assert (ended.turn.active_owner, ended.turn.active_until, ended.turn.touched) == (None, None, 50.0)


async def test_renewing_an_expired_turn_marks_it_active_again(database):
    """The turn is still running."""
    await begin(database, ME)
    assert await due(database, now=910.0) == [KEY]
    async with database.transaction() as tx:
        await ledger.renew_turn(tx, KEY, now=920.0, lease_seconds=900, owner=ME)

    assert (await row(database)).turn.active_owner == ME
    assert await due(database, now=930.0) == []


@pytest.mark.parametrize("how", ["alone", "due", "claim", "clear"])
async def test_a_turn_of_a_dead_process_on_this_host_ends_at_once(database, how):
    """Neither users nor learning wait for a process that was killed during a turn."""
    await begin(database, DEAD)
    if how == "alone":
        assert (await begin(database, ME, now=20.0, is_exclusive=True)).turn.active_owner == ME
    elif how == "due":
        assert await due(database) == [KEY]
    elif how == "claim":
        assert (await claim(database)).turn.active_owner is None
    else:
        await claim(database)
        async with database.transaction() as tx:
            assert await ledger.begin_clearing(tx, KEY, YOU, turn_no=1, now=20.0, seconds=5)


@pytest.mark.parametrize("how", ["alone", "due", "claim"])
async def test_a_turn_of_another_host_or_a_living_process_blocks(database, how):
    """The turn may still be running."""
    for living in (ME, new_owner()):
        await begin(database, living)
        if how == "alone":
            assert (await begin(database, YOU, now=20.0, is_exclusive=True)).turn.active_owner == living
        elif how == "due":
            assert await due(database) == []
        else:
            assert await claim(database) is None


async def test_an_engine_of_this_process_with_a_closed_loop_counts_as_dead(database):
    """Its lease and its turn do not block the next engine of this process."""
    over = new_owner()
    await begin(database, over, active=5.0)
    await claim(database, over)
    assert await claim(database, YOU, now=21.0) is None
    assert await due(database, now=21.0) == []
    mark_dead(over)

    assert is_owner_dead(over)
    assert await due(database, now=21.0) == [KEY]
    assert (await claim(database, YOU, now=21.0)).lease.owner == YOU


async def test_a_turn_of_a_foreign_runner_marks_the_conversation_for_good(database):
    """Later turns of our own runner do not clear the mark."""
    await begin(database, ME)
    assert not (await row(database)).session.is_foreign
    await begin(database, ME, is_foreign=True)
    assert (await begin(database, ME)).session.is_foreign
    await begin(database, YOU)

    assert (await row(database)).session.is_foreign


@pytest.mark.parametrize(
    ("end", "has_new_turn", "stays"),
    [
        pytest.param({"is_deleted": True}, False, False, id="deleted"),
        pytest.param({"is_deleted": True}, True, True, id="deleted while a turn began"),
        pytest.param({}, False, True, id="not found"),
        pytest.param({"is_rewound": True}, False, True, id="rewound"),
    ],
)
async def test_a_deleted_session_is_no_longer_one_of_a_foreign_runner(database, end, has_new_turn, stays):
    """What was not found, or has had a turn since, may still be in that Runner's database."""
    await begin(database, ME, is_foreign=True)
    async with database.transaction() as tx:
        await ledger.end_turn(tx, KEY, now=11.0, owner=ME)
    await claim(database, YOU, now=20.0)
    async with database.transaction() as tx:
        await ledger.begin_clearing(tx, KEY, YOU, turn_no=1, now=20.0, seconds=5)
    if has_new_turn:
        await begin(database, ME, now=21.0, is_foreign=True, waits_for_clear=False)
    async with database.transaction() as tx:
        await ledger.end_clearing(tx, KEY, YOU, cleared_at=22.0, **end)
        foreign = await ledger.foreign_sessions(tx, user=KEY.user, app=KEY.app)

    assert foreign == ([KEY] if stays else [])
