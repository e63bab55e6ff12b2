"""Facts that hold for a time only, on each database: no read shows them outside of it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import Draft, NewFact
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.vector_search import VectorSearch
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, NOW, database, fact_texts
from support.recall_parts import no_limit

__all__ = ["database"]

outbox = Outbox()
TEA, GUEST, TRIP = "Likes tea", "Has a guest", "Travels"


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


async def write(database, *new_facts: NewFact, scope=ITAY, at=NOW):
    embedder = ScriptedEmbedder()
    vectors = await embedder.embed([fact.text for fact in new_facts], purpose="store")
    drafts = [
        Draft(fact=fact, source="remember", vector=vector, embedder=embedder.identity)
        for fact, vector in zip(new_facts, vectors, strict=True)
    ]
    async with database.transaction() as tx:
        return list(await FactStore().writer.write(tx, scope, drafts, now=at))


async def write_three(database):
    return await write(
        database,
        NewFact(TEA, said_at=NOW),
        NewFact(GUEST, said_at=NOW, valid_until=day(3)),
        NewFact(TRIP, said_at=NOW, valid_from=day(5), valid_until=day(9)),
    )


@pytest.mark.parametrize(
    ("at", "expected"), [(0, [TEA, GUEST]), (3, [TEA]), (5, [TEA, TRIP]), (8.9, [TEA, TRIP]), (9, [TEA])]
)
async def test_every_read_compares_the_validity_with_the_clock(database, at, expected):
    """It begins with `valid_from` and is over at `valid_until`."""
    stored = await write_three(database)
    await write(database, NewFact(GUEST, valid_until=day(1)), scope=NOA)
    facts, now = FactStore(FakeClock(day(at))), day(at)
    current = {fact.text: fact for fact in stored if fact.text in expected}

    async with database.read_transaction() as tx:
        assert fact_texts(await facts.facts(tx, ITAY)) == expected
        got = await facts.get(tx, ITAY, [fact.id for fact in stored])
        assert set(fact_texts(got.values())) == set(expected)
        assert await facts.count(tx, ITAY) == len(expected)
        assert await facts.count(tx, ITAY, all_stored=True) == 3
        assert fact_texts(await facts.facts(tx, ITAY, all_stored=True)) == [TEA, GUEST, TRIP]
        assert len(await facts.ids_matching(tx, ITAY, lambda _: True)) == len(expected)
        assert await facts.scopes(tx) == ([ITAY, NOA] if at < 1 else [ITAY])
        assert [each.facts for each in await facts.summaries(tx) if each.scope == ITAY] == [len(expected)]
    columns = await ColumnCache(database, facts, no_limit(), FakeClock(now)).get(ITAY)
    found = await VectorSearch(database, facts, ScriptedEmbedder(), no_limit()).find(
        ITAY, TEA, limit=9, allowed=columns
    )
    assert {each.decode() for each in columns.ids.tolist()} == {fact.id for fact in current.values()}
    assert set(found.scores) == {fact.id for fact in current.values()}


async def test_the_columns_in_memory_follow_the_clock(database):
    """Forwards and back, without a look at rows that did not change; between two moments they are the same object."""
    await write_three(database)
    clock = FakeClock(NOW)
    cache = ColumnCache(database, FactStore(clock), no_limit(), clock)
    first = await cache.get(ITAY)
    clock.advance(timedelta(days=2))
    assert await cache.get(ITAY) is first

    sizes = []
    for step in (1, 2, 4, -4, -3):
        clock.advance(timedelta(days=step))
        sizes.append(len(await cache.get(ITAY)))
    assert sizes == [1, 2, 1, 2, 2]
    await write(database, NewFact("Has a dog", valid_until=day(1)), NewFact("Has a cat"), at=clock.now())
    assert len(await cache.get(ITAY)) == 3


async def test_what_has_begun_to_hold_goes_into_the_outbox_once(database):
    """Also after other writes; another person's facts are left alone."""
    *_, trip = await write_three(database)
    await write(database, NewFact(TRIP, valid_from=day(50)), scope=NOA)
    facts = FactStore()
    async with database.transaction() as tx:
        await outbox.acknowledge(tx, await outbox.dirty(tx, limit=9))
    counts = []
    for moment in (day(4), day(5), day(6)):
        async with database.transaction() as tx:
            counts.append(await facts.validity.begin(tx, now=moment, limit=9))
    async with database.read_transaction() as tx:
        dirty = await outbox.dirty(tx, limit=9)

    assert counts == [0, 1, 0]
    assert [(row.fact_id, row.version) for row in dirty] == [(trip.id, 1)]


async def test_a_profile_outdates_when_what_is_current_turns_over(database):
    """A fact that is added changes nothing; one that expires, begins or is swept does; another person's does not."""
    _, guest, _ = await write_three(database)
    facts, seen = FactStore(), []

    async def look(at):
        async with database.read_transaction() as tx:
            state = await facts.validity.prompt_state(tx, ITAY, now=day(at), due_until=day(at))
            seen.append(state.profile_key)

    await look(0)
    await write(database, NewFact("Has a dog", said_at=day(1)), at=day(1))
    await write(database, NewFact(GUEST, valid_until=day(2)), NewFact(TRIP, valid_from=day(2)), scope=NOA)
    await look(2)
    await look(3)
    await look(5)
    async with database.transaction() as tx:
        assert await facts.validity.expire(tx, now=day(5), limit=9) == 2
    await look(5)

    assert seen[0] == seen[1]
    assert len(set(seen)) == 4
    async with database.read_transaction() as tx:
        [period] = await facts.history.history(tx, ITAY, guest.id)
        assert (period.why, period.actor, period.ended_at) == ("expired", "clock", day(3))


async def test_the_state_of_a_prompt_tells_whether_something_is_due(database):
    """By that time, and not yet reminded of; another person's facts do not count."""
    await write(database, NewFact("Call the plumber", due_at=day(5)), NewFact("Pay the rent", due_at=day(1)), scope=NOA)
    await write(
        database,
        NewFact("Call the dentist", due_at=day(4)),
        NewFact("Pay the gas", due_at=day(1), reminded_at=day(2)),
        NewFact("Likes tea"),
    )
    facts, seen = FactStore(), []
    for until in (2, 3.9, 4):
        async with database.read_transaction() as tx:
            seen.append((await facts.validity.prompt_state(tx, ITAY, now=NOW, due_until=day(until))).has_due)

    assert seen == [False, False, True]


async def test_the_state_of_a_prompt_tells_whether_a_fact_is_true_now(database):
    """What has ended, what is yet to begin and another person's facts make no profile."""
    facts, seen = FactStore(), []
    await write(database, NewFact("Likes tea"), scope=NOA)
    for fact in (
        NewFact("Has a guest", valid_until=day(-1)),
        NewFact("Moves to Rome", valid_from=day(9)),
        NewFact("Plays chess"),
    ):
        await write(database, fact)
        async with database.read_transaction() as tx:
            seen.append((await facts.validity.prompt_state(tx, ITAY, now=NOW, due_until=NOW)).may_have_profile)

    assert seen == [False, False, True]
