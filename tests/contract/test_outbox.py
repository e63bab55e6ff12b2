"""The contract of the outbox, on each database."""

from __future__ import annotations

import pytest

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import DirtyFact, Scope
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = FactStore()
outbox = Outbox()


@pytest.fixture
async def written(database):
    """Write two facts for ITAY, one of them with a vector."""
    async with database.transaction() as tx:
        return await facts.writer.write(
            tx, ITAY, [make_draft("likes tea", vector=(1.0, 0.5)), make_draft("has a dog")], now=NOW
        )


async def follow(database):
    """Acknowledge all entries, as the owner of a store does."""
    async with database.transaction() as tx:
        return await outbox.acknowledge(tx, await outbox.dirty(tx, limit=1000))


async def test_a_written_fact_stays_dirty_until_it_is_acknowledged(database, written):
    """Entries are returned oldest first, up to the limit."""
    async with database.transaction() as tx:
        first = await outbox.dirty(tx, limit=1)
        both = await outbox.dirty(tx, limit=10)
        assert (await outbox.store(tx)).lag == 2
        assert await outbox.acknowledge(tx, both) == 2
        assert await outbox.acknowledge(tx, both) == 0
        assert (await outbox.store(tx)).lag == 0
    assert [row.fact_id for row in both] == [fact.id for fact in written]
    assert first == both[:1]


async def test_a_change_before_the_acknowledgement_keeps_the_fact_dirty(database, written):
    """The follower has seen an older version only."""
    async with database.transaction() as tx:
        seen = await outbox.dirty(tx, limit=10)
        await facts.delete(tx, ITAY, [written[0].id])
        assert await outbox.acknowledge(tx, seen) == 1

        (left,) = await outbox.dirty(tx, limit=10)
    assert left.fact_id == written[0].id
    assert left.version > seen[0].version


async def test_facts_are_loaded_in_their_current_state_with_vector_and_scope(database, written):
    """A deleted fact is not loaded; the outbox keeps only its id."""
    other = Scope(None, "a b\x00")
    async with database.transaction() as tx:
        (theirs,) = await facts.writer.write(tx, other, [make_draft("x")], now=NOW)
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


async def test_forgetting_a_user_marks_their_fact_ids_as_dirty(database, written):
    """This includes facts that the follower had already processed."""
    await follow(database)
    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=1.0)
        dead = await outbox.dirty(tx, limit=10)

        assert {row.fact_id for row in dead} == {fact.id for fact in written}
        assert await outbox.load_facts(tx, [row.fact_id for row in dead]) == {}


async def test_a_repeated_fact_becomes_dirty_only_if_it_gets_a_vector(database, written):
    """Another source changes nothing that a vector store holds."""
    await follow(database)
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft("Likes tea"), make_draft("Has a dog")], now=NOW)
        assert await outbox.dirty(tx, limit=10) == []
        await facts.writer.write(tx, ITAY, [make_draft("Has a dog", vector=(0.0, 1.0))], now=NOW)

        assert [row.fact_id for row in await outbox.dirty(tx, limit=10)] == [written[1].id]


async def test_a_backfilled_vector_keeps_the_version_and_raises_the_revision(database, written):
    """The follower can finish with the same version, and caches see the new revision."""
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


async def test_resetting_the_store_marks_every_current_fact_and_no_deleted_one_as_dirty(database, written):
    """A new store starts empty."""
    async with database.transaction() as tx:
        before = await outbox.store(tx)
        (theirs,) = await facts.writer.write(tx, NOA, [make_draft("x")], now=NOW)
        await facts.delete(tx, ITAY, [written[0].id])
        await outbox.reset_store(tx, "store-2")
        after = await outbox.store(tx)
        dirty = await outbox.dirty(tx, limit=10)
        read = await outbox.load_facts(tx, [row.fact_id for row in dirty])

    assert before.store_id not in ("", "store-2")
    assert (after.store_id, after.lag) == ("store-2", 2)
    assert [row.fact_id for row in dirty] == [written[1].id, theirs.id]
    assert [read[row.fact_id].version for row in dirty] == [row.version for row in dirty]


async def test_dirty_ids_are_counted_up_to_a_place_that_later_ones_do_not_get(database):
    """So one can wait for what is dirty now; a change of a dirty fact keeps its place."""
    async with database.transaction() as tx:
        assert await outbox.count_dirty(tx, up_to=None) == (0, 0)
        (tea, dog) = await facts.writer.write(tx, ITAY, [make_draft("tea"), make_draft("dog")], now=NOW)
        count, last = await outbox.count_dirty(tx, up_to=None)
        await facts.writer.write(tx, NOA, [make_draft("x")], now=NOW)
        await facts.delete(tx, ITAY, [tea.id])
        later, _ = await outbox.count_dirty(tx, up_to=None)
        assert await outbox.count_dirty(tx, up_to=last) == (2, last)
        await outbox.acknowledge(tx, [row for row in await outbox.dirty(tx, limit=9) if row.fact_id == dog.id])
        left, earlier = await outbox.count_dirty(tx, up_to=last)

    assert (count, later, left) == (2, 3, 1)
    assert 0 < earlier < last


async def test_one_owner_holds_the_lease_until_it_expires_or_is_released(database):
    """An owner that holds the lock of the operating system needs no lease."""
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


async def test_an_erasure_is_recorded_until_it_is_finished(database):
    """Each forget records its own numbered erasure, distinct from any later one."""
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
