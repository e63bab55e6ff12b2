"""Which conversations wait to be learned: those with a turn that is neither private, forgotten nor learned."""

from __future__ import annotations

import pytest

from gaia_memory.ledger import Ledger
from gaia_memory.models import EventPosition, SessionKey, TurnRequest
from support.databases import database

__all__ = ["database"]

ledger = Ledger()
KEY = SessionKey("gaia", "itay", "itay:cli")
OTHER = SessionKey("gaia", "noa", "noa:cli")
ME = "elsewhere:1:1.00"


async def speak(database, *, key=KEY, at=0.0, is_private=False):
    """Begin and end a turn."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, key, TurnRequest(), now=at, lease_seconds=900)
        await ledger.end_turn(tx, key, now=at, is_private=is_private)


async def waiting(database, key=KEY):
    """Return how many messages of a conversation wait; None if it is not listed as waiting."""
    async with database.read_transaction() as tx:
        pending = await ledger.pending(tx, user=key.user, app=key.app)
    return next((each.messages for each in pending), None)


async def learn(database, *, at=100.0):
    """Learn everything said so far."""
    async with database.transaction() as tx:
        claimed = await ledger.claim(tx, KEY, ME, now=at, lease_seconds=30.0)
        await ledger.advance_watermark(
            tx,
            KEY,
            ME,
            expected=claimed.progress.watermark,
            new_watermark=EventPosition(at, "e"),
            turn_count=1,
        )
        await ledger.release(tx, KEY, ME, is_done=True)


async def test_private_turns_do_not_wait(database):
    """Neither alone nor between others; the conversation is due all the same, to be cleared."""
    await speak(database, is_private=True)
    alone = await waiting(database)
    await speak(database)
    await speak(database, is_private=True)
    between = await waiting(database)
    await learn(database)
    await speak(database, is_private=True)
    after = await waiting(database)
    async with database.read_transaction() as tx:
        due = await ledger.due(tx, quiet_since=70.0, limit=10, apps=["gaia"])

    assert (alone, between, after) == (None, 1, None)
    assert [each.key for each in due] == [KEY]


async def test_a_forget_of_everything_leaves_nothing_waiting(database):
    """Of this user and up to that time; the next message waits."""
    await speak(database, at=10.0)
    await speak(database, key=OTHER, at=10.0)
    async with database.transaction() as tx:
        await ledger.forget_messages(tx, user=KEY.user, app=KEY.app, said_until=9.0)
    too_early = await waiting(database)
    async with database.transaction() as tx:
        await ledger.forget_messages(tx, user=KEY.user, app=KEY.app, said_until=20.0)
    forgotten, other = await waiting(database), await waiting(database, OTHER)
    await speak(database, at=30.0)

    assert (too_early, forgotten, other) == (1, None, 1)
    assert await waiting(database) == 1


async def test_a_forget_of_a_conversation_leaves_nothing_waiting_in_it(database):
    """What is said afterwards waits."""
    await speak(database, at=10.0)
    async with database.transaction() as tx:
        await ledger.forget_session(tx, user=KEY.user, app=KEY.app, session=KEY.session, said_until=20.0)
    forgotten = await waiting(database)
    await speak(database, at=30.0)

    assert (forgotten, await waiting(database)) == (None, 1)


async def test_messages_that_were_not_counted_wait_as_one(database):
    """The ledger cannot know how many they are; what was learned before does not count again."""
    for at in (10.0, 20.0, 30.0):
        await speak(database, at=at)
    await learn(database)
    async with database.transaction() as tx:
        assert await ledger.enqueue(tx, KEY, touched=110.0)
        assert await ledger.bootstrap(tx, "gaia", {OTHER: 50.0}) == 1

    assert (await waiting(database), await waiting(database, OTHER)) == (1, 1)
    async with database.read_transaction() as tx:
        due = await ledger.due(tx, quiet_since=200.0, limit=10, apps=["gaia"])
    assert [each.key for each in due] == [OTHER, KEY]


@pytest.mark.parametrize(("learned", "left"), [(0, 3), (2, 1), (3, 3), (5, 3)])
async def test_after_a_failure_the_turns_of_earlier_chunks_do_not_wait(database, learned, left):
    """At least one waits until all are learned, also if the transcript has more turns than were counted."""
    for at in (10.0, 20.0, 30.0):
        await speak(database, at=at)
    async with database.transaction() as tx:
        await ledger.claim(tx, KEY, ME, now=100.0, lease_seconds=30.0)
        await ledger.advance_watermark(
            tx,
            KEY,
            ME,
            expected=None,
            new_watermark=EventPosition(20.0, "e"),
            turn_count=learned,
            is_complete=False,
        )
        await ledger.record_failure(tx, KEY, ME, error="503", now=100.0, retry_at=200.0)

    assert await waiting(database) == left


@pytest.mark.parametrize("is_learned", [False, True])
async def test_a_failed_conversation_is_listed_with_the_messages_that_wait(database, is_learned):
    """None, if it was learned and could not be cleared, or is private."""
    await speak(database)
    await speak(database, is_private=True)
    async with database.transaction() as tx:
        await ledger.claim(tx, KEY, ME, now=100.0, lease_seconds=30.0)
        if is_learned:
            await ledger.advance_watermark(
                tx, KEY, ME, expected=None, new_watermark=EventPosition(50.0, "e"), turn_count=1
            )
        await ledger.record_failure(tx, KEY, ME, error="disk full", now=100.0, retry_at=200.0)

    assert await waiting(database) == (0 if is_learned else 1)
