"""The contract of the outbox, on each database."""

from __future__ import annotations

import pytest

from gaia_memory.facts import SqlFacts, SqlOutbox
from gaia_memory.models import DirtyFact, Scope
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = SqlFacts()
outbox = SqlOutbox()


@pytest.fixture
async def written(database):
    """Write two facts for ITAY, one of them with a vector."""
    async with database.transaction() as tx:
        return await facts.write(
            tx, ITAY, [make_draft("likes tea", vector=(1.0, 0.5)), make_draft("has a dog")], now=NOW
        )


async def follow(database):
    """Apply all entries, as the owner of a store does."""
    async with database.transaction() as tx:
        return await outbox.acknowledge(tx, await outbox.dirty(tx, limit=1000))


async def test_a_written_fact_waits_until_it_is_done(database, written):
    """Oldest first, no more than asked for."""
    async with database.transaction() as tx:
        first = await outbox.dirty(tx, limit=1)
        both = await outbox.dirty(tx, limit=10)
        assert (await outbox.store(tx)).lag == 2
        assert await outbox.acknowledge(tx, both) == 2
        assert await outbox.acknowledge(tx, both) == 0
        assert (await outbox.store(tx)).lag == 0
    assert [row.fact_id for row in both] == [fact.id for fact in written]
    assert first == both[:1]


async def test_a_change_meanwhile_keeps_the_fact_dirty(database, written):
    """The follower saw an older version."""
    async with database.transaction() as tx:
        seen = await outbox.dirty(tx, limit=10)
        await facts.delete(tx, ITAY, [written[0].id])
        assert await outbox.acknowledge(tx, seen) == 1

        (left,) = await outbox.dirty(tx, limit=10)
    assert left.fact_id == written[0].id
    assert left.version > seen[0].version


async def test_a_fact_is_read_as_it_is_now_with_its_vector_and_scope(database, written):
    """One that is gone is not there, and nothing of it stands in the outbox but its id."""
    other = Scope(None, "a b\x00")
    async with database.transaction() as tx:
        (theirs,) = await facts.write(tx, other, [make_draft("x")], now=NOW)
        await facts.delete(tx, ITAY, [written[1].id])
        ids = [row.fact_id for row in await outbox.dirty(tx, limit=10)]
        read = await outbox.load_facts(tx, ids)

    assert set(ids) == {written[0].id, written[1].id, theirs.id}
    assert set(read) == {written[0].id, theirs.id}
    assert read[written[0].id].fact == written[0]
    assert read[written[0].id].vector == (1.0, 0.5)
    assert read[written[0].id].embedder == "offline/test/2"
    assert read[theirs.id].fact.scope == other
    assert read[theirs.id].vector is None


async def test_forgetting_a_person_leaves_their_ids_to_be_followed(database, written):
    """Also of facts that had been followed already."""
    await follow(database)
    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=1.0)
        dead = await outbox.dirty(tx, limit=10)

        assert {row.fact_id for row in dead} == {fact.id for fact in written}
        assert await outbox.load_facts(tx, [row.fact_id for row in dead]) == {}


async def test_a_repeated_fact_is_not_followed_again_unless_it_got_a_vector(database, written):
    """A further source changes nothing that a vector store holds."""
    await follow(database)
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft("Likes tea"), make_draft("Has a dog")], now=NOW)
        assert await outbox.dirty(tx, limit=10) == []
        await facts.write(tx, ITAY, [make_draft("Has a dog", vector=(0.0, 1.0))], now=NOW)

        assert [row.fact_id for row in await outbox.dirty(tx, limit=10)] == [written[1].id]


async def test_a_vector_comes_later_while_the_fact_is_unchanged(database, written):
    """The version stays, so that the follower can finish; the revision rises, so that caches see it."""
    async with database.transaction() as tx:
        tea, dog = await outbox.dirty(tx, limit=10)
        stale = DirtyFact(fact_id=tea.fact_id, version=tea.version + 1)
        before = await facts.state(tx, ITAY)
        await outbox.backfill_vectors(tx, {dog: (0.0, 1.0), stale: (9.0, 9.0)}, "late/model/2")
        late, matrix = await facts.vectors(tx, ITAY, "late/model/2")
        after = await facts.state(tx, ITAY)
        assert (await outbox.load_facts(tx, [tea.fact_id]))[tea.fact_id].vector == (1.0, 0.5)
        assert await outbox.acknowledge(tx, [tea, dog]) == 2
        await outbox.backfill_vectors(tx, {}, "late/model/2")
        await outbox.backfill_vectors(tx, {stale: (9.0, 9.0)}, "late/model/2")
        assert await facts.state(tx, ITAY) == after

    assert late == [written[1].id]
    assert matrix.tolist() == [[0.0, 1.0]]
    assert after.revision == before.revision + 1


async def test_a_new_store_has_everything_to_follow_and_nothing_dead(database, written):
    """It begins empty."""
    async with database.transaction() as tx:
        before = await outbox.store(tx)
        (theirs,) = await facts.write(tx, NOA, [make_draft("x")], now=NOW)
        await facts.delete(tx, ITAY, [written[0].id])
        await outbox.reset_store(tx, "store-2")
        after = await outbox.store(tx)
        dirty = await outbox.dirty(tx, limit=10)
        read = await outbox.load_facts(tx, [row.fact_id for row in dirty])

    assert before.store_id not in ("", "store-2")
    assert (after.store_id, after.lag) == ("store-2", 2)
    assert [row.fact_id for row in dirty] == [written[1].id, theirs.id]
    assert [read[row.fact_id].version for row in dirty] == [row.version for row in dirty]


async def test_what_was_followed_is_given_page_by_page_with_its_vectors(database):
    """A fact that changed since, or was never followed, is left out."""
    async with database.transaction() as tx:
        drafts = [make_draft(f"fact {number}", vector=(float(number), 1.0)) for number in range(5)]
        written = await facts.write(tx, ITAY, drafts, now=NOW)
        rows = await outbox.dirty(tx, limit=10)
        await outbox.acknowledge(tx, [row for row in rows if row.fact_id != written[2].id])
        first = await outbox.synced_facts(tx, after="", limit=3)
        rest = await outbox.synced_facts(tx, after=first[-1].fact.id, limit=3)
        none = await outbox.synced_facts(tx, after=rest[-1].fact.id, limit=3)

    expected = sorted(fact.id for fact in written if fact.id != written[2].id)
    vectors = {fact.id: (float(number), 1.0) for number, fact in enumerate(written)}
    assert [stored.fact.id for stored in first + rest] == expected
    assert [stored.vector for stored in first + rest] == [vectors[fact_id] for fact_id in expected]
    assert none == []


async def test_one_owner_holds_the_lease_until_it_ends_or_gives_back(database):
    """Whoever has the lock of the operating system needs no lease."""
    async with database.transaction() as tx:
        assert await outbox.claim_store(tx, "a", now=0.0, lease_seconds=30.0)
        assert not await outbox.claim_store(tx, "b", now=29.0, lease_seconds=30.0)
        assert await outbox.claim_store(tx, "a", now=20.0, lease_seconds=30.0)
        assert not await outbox.claim_store(tx, "b", now=49.0, lease_seconds=30.0)
        assert await outbox.claim_store(tx, "b", now=50.0, lease_seconds=30.0)
        assert not await outbox.claim_store(tx, "c", now=51.0, lease_seconds=30.0, dead_owner="a")
        assert await outbox.claim_store(tx, "a", now=51.0, lease_seconds=30.0, dead_owner="b")
        assert await outbox.claim_store(tx, "b", now=52.0, lease_seconds=30.0, dead_owner="a")
        await outbox.release_store(tx, "a")
        assert (await outbox.store(tx)).owner == "b"
        await outbox.release_store(tx, "b")
        assert (await outbox.store(tx)).owner is None
        assert await outbox.claim_store(tx, "c", now=50.0, lease_seconds=None)
        assert await outbox.claim_store(tx, "d", now=50.0, lease_seconds=None)
        assert (await outbox.store(tx)).owner == "d"


async def test_somebody_who_waits_is_seen_until_the_latest_time_named(database):
    """Two may wait at once."""
    async with database.transaction() as tx:
        assert (await outbox.store(tx)).awaited_until is None
        await outbox.register_waiter(tx, until=20.0)
        await outbox.register_waiter(tx, until=10.0)

        assert (await outbox.store(tx)).awaited_until == 20.0


async def test_an_erasure_is_noted_until_it_is_finished(database):
    """Each forget has one of its own, numbered and never confused with a later one."""
    async with database.transaction() as tx:
        await outbox.record_erasure(tx, ITAY, now=1.0)
        await outbox.record_erasure(tx, NOA, now=2.0)
        first, second = await outbox.pending_erasures(tx)
        await outbox.finish_erasures(tx, [second])
        await outbox.record_erasure(tx, ITAY, now=3.0)
        assert (await outbox.store(tx)).erasures == 2
        left = await outbox.pending_erasures(tx)
        await outbox.finish_erasures(tx, left)

        assert await outbox.pending_erasures(tx) == []
    assert left[0] == first
    assert left[1] > second
