"""Two processes on one database lose no write, and exactly one of them wins each race."""

from __future__ import annotations

import asyncio
import random

import pytest
from sqlalchemy import update

from gaia_memory.database.sql_engine import open_database
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.facts.tables import scopes
from gaia_memory.forget.delete import Forgetter
from gaia_memory.ledger import Ledger
from gaia_memory.models import UNCONFIRMED_KEY, EventPosition, SessionKey, TurnRequest
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

ROUNDS = 60
facts = FactStore()
ledger = Ledger()
outbox = Outbox()


@pytest.fixture
async def second(database, tmp_path):
    """Open the database a second time with its own connections, as another process does."""
    opened = await open_database(database.engine.url, home=tmp_path)
    yield opened
    await opened.close()


async def test_a_read_followed_by_a_write_in_one_transaction_loses_no_update(database, second):
    """Each process sees what the other has written."""

    async def count_up(one):
        for _ in range(ROUNDS):
            async with one.transaction() as tx:
                revision = (await facts.state(tx, ITAY)).revision
                await tx.execute(
                    update(scopes).where(scopes.c.partition == ITAY.partition).values(revision=revision + 1)
                )

    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft("x")], now=NOW)
    await asyncio.gather(count_up(database), count_up(second))

    async with database.read_transaction() as tx:
        assert (await facts.state(tx, ITAY)).revision == 1 + 2 * ROUNDS


async def test_a_fact_written_by_two_processes_at_once_is_stored_once(database, second):
    """All other facts are stored once as well."""

    async def write(one):
        for number in range(ROUNDS // 2):
            async with one.transaction() as tx:
                await facts.writer.write(
                    tx, ITAY, [make_draft(f"fact {number}", source="remember"), make_draft("same")], now=NOW
                )

    await asyncio.gather(write(database), write(second))

    async with database.read_transaction() as tx:
        assert await facts.count(tx, ITAY) == ROUNDS // 2 + 1


async def test_a_fact_that_is_said_while_a_forget_of_proposals_waits_stays(database, second):
    """The forget looks at the sources once nobody else writes."""
    proposal = make_draft("Plans early", source="grow", **{UNCONFIRMED_KEY: True})
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [proposal], now=NOW)
    forgetter = Forgetter(second, facts, ledger, outbox)
    chosen = {"fact_id": None, "session_id": None, "filters": {"source": "grow"}, "copies": False}
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft("Plans early", source="remember")], now=NOW)
        forget = asyncio.create_task(forgetter.forget(ITAY, **chosen, now=NOW))
        await asyncio.sleep(0.3)
    receipt = await forget

    assert receipt.count == 0
    async with database.read_transaction() as tx:
        assert [fact.source for fact in await facts.facts(tx, ITAY)] == ["remember"]


async def test_each_conversation_is_claimed_by_one_owner(database, second):
    """Both processes try to claim all of them at the same time."""
    keys = [SessionKey("gaia", "itay", f"s{number}") for number in range(ROUNDS)]
    async with database.transaction() as tx:
        for key in keys:
            await ledger.begin_turn(tx, key, TurnRequest(), now=0.0, lease_seconds=1.0)

    async def learn(one, owner):
        won = []
        for key in keys:
            async with one.transaction() as tx:
                row = await ledger.claim(tx, key, owner, now=10.0, lease_seconds=30)
            if row is not None:
                async with one.transaction() as tx:
                    assert await ledger.advance_watermark(
                        tx, key, owner, expected=None, new_watermark=EventPosition(1.0, "e"), turn_count=1
                    )
                won.append(key)
        return won

    mine, yours = await asyncio.gather(learn(database, "a:1:1"), learn(second, "b:2:2"))

    assert sorted(mine + yours, key=keys.index) == keys


async def test_a_concurrent_clear_and_turn_never_both_succeed(database, second):
    """Either the turn waits, or the clear does not begin."""
    keys = [SessionKey("gaia", "itay", f"s{number}") for number in range(ROUNDS)]
    async with database.transaction() as tx:
        for key in keys:
            await ledger.begin_turn(tx, key, TurnRequest(), now=0.0, lease_seconds=1.0)
            await ledger.claim(tx, key, "a:1:1", now=5.0, lease_seconds=30)

    async def clear(key):
        async with database.transaction() as tx:
            return await ledger.begin_clearing(tx, key, "a:1:1", turn_no=1, now=6.0, seconds=5)

    async def speak(key):
        async with second.transaction() as tx:
            return (await ledger.begin_turn(tx, key, TurnRequest(), now=6.0, lease_seconds=900)).clearing.owner is None

    for key in keys:
        cleared, spoke = await asyncio.gather(clear(key), speak(key))

        assert cleared != spoke


async def test_writers_deleters_and_followers_do_not_deadlock(database, second):
    """At the end the outbox is empty and the keyword index is complete."""
    chance = random.Random(7)
    words = [f"fact {number}" for number in range(20)]

    async def write(one, scope):
        for _ in range(ROUNDS // 3):
            async with one.transaction() as tx:
                drafts = [make_draft(word, vector=(1.0, 0.0)) for word in chance.sample(words, 8)]
                written = await facts.writer.write(tx, scope, drafts, now=NOW)
                await facts.delete(tx, scope, [fact.id for fact in written[:3]])

    async def follow(one):
        for _ in range(ROUNDS // 3):
            async with one.read_transaction() as tx:
                rows = await outbox.dirty(tx, limit=20)
                await outbox.load_facts(tx, [row.fact_id for row in rows])
            async with one.transaction() as tx:
                await outbox.backfill_vectors(tx, dict.fromkeys(rows, (0.0, 1.0)), "late")
                await outbox.acknowledge(tx, rows)

    await asyncio.gather(
        write(database, ITAY), write(second, ITAY), write(second, NOA), follow(database), follow(second)
    )

    async with database.transaction() as tx:
        await outbox.acknowledge(tx, await outbox.dirty(tx, limit=1000))
        assert (await outbox.store(tx)).lag == 0
