"""The queue of facts to compare, pairs, leases and doubts, on each database and beside another person's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.models import PairingState, UndecidedFact
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = FactStore()


async def write(database, *texts, scope=ITAY):
    async with database.transaction() as tx:
        return list(await facts.writer.write(tx, scope, [make_draft(text) for text in texts], now=NOW))


async def queue(database, *undecided, scope=ITAY):
    async with database.transaction() as tx:
        await facts.comparisons.queue_undecided(tx, scope, [UndecidedFact(fact_id=each.id) for each in undecided])


async def waiting(database, scope=ITAY):
    async with database.read_transaction() as tx:
        found = await facts.comparisons.undecided(tx, scope)
        assert await facts.comparisons.count_undecided(tx, scope) == len(found)
    return found


async def both_have_a_queued_fact(database):
    """Return the fact of each person."""
    [mine], [hers] = await write(database, "likes tea"), await write(database, "likes tea", scope=NOA)
    await queue(database, mine)
    await queue(database, hers, scope=NOA)
    return mine, hers


async def test_each_person_has_a_queue_and_a_fact_waits_once(database):
    """In the order in which they were queued."""
    mine, hers = await both_have_a_queued_fact(database)
    [other] = await write(database, "likes coffee")
    await queue(database, mine, other)

    assert [row.fact_id for row in await waiting(database)] == [mine.id, other.id]
    assert [row.fact_id for row in await waiting(database, NOA)] == [hers.id]
    async with database.read_transaction() as tx:
        last = await facts.comparisons.last_undecided(tx)
        first = (await facts.comparisons.undecided(tx, ITAY))[0].row
        assert await facts.comparisons.undecided_scopes(tx, now=NOW.timestamp(), last=last) == [ITAY, NOA]
        assert await facts.comparisons.undecided_scopes(tx, now=NOW.timestamp(), last=first) == [ITAY]


async def test_another_persons_rows_are_neither_dropped_nor_postponed(database):
    """The place in the queue alone does not suffice."""
    await both_have_a_queued_fact(database)
    [row], [hers] = await waiting(database), await waiting(database, NOA)
    async with database.transaction() as tx:
        await facts.comparisons.drop_undecided(tx, ITAY, hers.row)
        await facts.comparisons.postpone_undecided(tx, ITAY, hers.row, attempts=2, until=9e9)
        await facts.comparisons.postpone_undecided(tx, ITAY, row.row, attempts=1, until=NOW.timestamp() + 60)
        assert await facts.comparisons.undecided_scopes(tx, now=NOW.timestamp(), last=99) == [NOA]
        assert await facts.comparisons.undecided_scopes(tx, now=NOW.timestamp() + 61, last=99) == [ITAY, NOA]

    assert await waiting(database, NOA) == [hers]
    assert [(each.attempts, each.retry_at) for each in await waiting(database)] == [(1, NOW.timestamp() + 60)]
    async with database.transaction() as tx:
        await facts.comparisons.drop_undecided(tx, ITAY, row.row)
    assert await waiting(database) == []


@pytest.mark.parametrize("everything", [False, True])
async def test_forgetting_empties_the_queue_and_the_pairs_of_one_person(database, everything):
    """Another person's stay."""
    mine, hers = await both_have_a_queued_fact(database)
    [tea], [other] = await write(database, "likes green tea"), await write(database, "likes green tea", scope=NOA)
    async with database.transaction() as tx:
        await facts.comparisons.note_compared(tx, ITAY, mine, [tea])
        await facts.comparisons.note_compared(tx, NOA, hers, [other])
        if everything:
            await facts.delete_all(tx, ITAY, forgotten_at=NOW.timestamp())
        else:
            await facts.delete(tx, ITAY, [mine.id, hers.id])

    assert await waiting(database) == []
    assert [row.fact_id for row in await waiting(database, NOA)] == [hers.id]
    async with database.read_transaction() as tx:
        assert (await facts.comparisons.count_compared(tx, ITAY), await facts.comparisons.count_compared(tx, NOA)) == (
            0,
            1,
        )


async def test_a_pair_counts_as_compared_while_both_texts_are_the_same(database):
    """In either order; for one person only."""
    mine, other = await write(database, "likes tea", "likes coffee")
    async with database.transaction() as tx:
        await facts.comparisons.note_compared(tx, ITAY, mine, [other, mine])
        assert await facts.comparisons.find_compared(tx, ITAY, other, [mine]) == {mine.id}
        assert await facts.comparisons.find_compared(tx, NOA, other, [mine]) == set()
        await facts.corrections.reword(tx, ITAY, other.id, make_draft("likes cocoa"), actor="host", now=NOW)
        reworded = (await facts.get(tx, ITAY, [other.id]))[other.id]
        assert await facts.comparisons.find_compared(tx, ITAY, mine, [reworded]) == set()


async def test_a_merge_takes_what_waits_along(database):
    """Also for a fact that both know, which is one then."""
    _, hers = await both_have_a_queued_fact(database)
    coffee, cocoa = await write(database, "likes coffee", "likes cocoa")
    await queue(database, coffee)
    async with database.transaction() as tx:
        await facts.comparisons.note_compared(tx, ITAY, coffee, [cocoa])
        await merge_scopes(facts, tx, ITAY, NOA)

    assert await waiting(database) == []
    assert [row.fact_id for row in await waiting(database, NOA)] == [hers.id, coffee.id]
    async with database.read_transaction() as tx:
        assert await facts.comparisons.find_compared(tx, NOA, cocoa, [coffee]) == {coffee.id}


async def test_only_people_whose_facts_changed_are_due_for_pairs(database):
    """And each not before the interval is over."""
    await both_have_a_queued_fact(database)
    now = NOW.timestamp()
    async with database.transaction() as tx:
        assert await facts.comparisons.scopes_to_pair(tx, before=now, limit=9) == [ITAY, NOA]
        revision = (await facts.state(tx, ITAY)).revision
        await facts.comparisons.note_pairing(tx, ITAY, PairingState(paired_at=now, paired_revision=revision))
        assert await facts.comparisons.scopes_to_pair(tx, before=now, limit=9) == [NOA]
        assert await facts.comparisons.pairing_state(tx, NOA) == PairingState()
        assert await facts.comparisons.changed_facts(tx, ITAY, since=revision, limit=9) == {}
    [tea] = await write(database, "likes green tea")
    async with database.read_transaction() as tx:
        assert await facts.comparisons.scopes_to_pair(tx, before=now - 1, limit=9) == [NOA]
        assert await facts.comparisons.scopes_to_pair(tx, before=now, limit=9) == [NOA, ITAY]
        assert list(await facts.comparisons.changed_facts(tx, ITAY, since=revision, limit=9)) == [tea.id]


async def test_the_lease_is_one_owners_until_it_runs_out_or_the_owner_is_dead(database):
    """Each person has a lease of their own."""
    await both_have_a_queued_fact(database)

    async def claim(owner, at, scope=ITAY, dead=None):
        async with database.transaction() as tx:
            return await facts.comparisons.claim_reconciling(tx, scope, owner, now=at, until=at + 60, dead_owner=dead)

    assert [await claim("a", 0), await claim("b", 1), await claim("b", 1, NOA)] == ["a", "a", "b"]
    assert [await claim("a", 50), await claim("b", 70), await claim("b", 111)] == ["a", "a", "b"]
    assert [await claim("a", 112), await claim("a", 112, dead="b")] == ["b", "a"]
    async with database.transaction() as tx:
        await facts.comparisons.release_reconciling(tx, ITAY, "a")
    assert [await claim("c", 113), await claim("c", 113, NOA)] == ["c", "c"]


async def test_a_doubt_is_noted_once_and_cleared_when_the_fact_is_said_again(database):
    """Another person's fact is not touched."""
    mine, hers = await both_have_a_queued_fact(database)
    async with database.transaction() as tx:
        assert await facts.comparisons.doubt(tx, ITAY, [mine.id, hers.id], since=NOW) == 1
        assert await facts.comparisons.doubt(tx, ITAY, [mine.id], since=NOW + timedelta(days=1)) == 0
        assert (await facts.get(tx, ITAY, [mine.id]))[mine.id].in_doubt_since == NOW
        assert (await facts.get(tx, NOA, [hers.id]))[hers.id].in_doubt_since is None
        [again] = await facts.writer.write(
            tx, ITAY, [make_draft("likes tea", said_at=NOW + timedelta(days=2))], now=NOW
        )

    assert again.in_doubt_since is None
