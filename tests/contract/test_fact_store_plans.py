"""A search reads in proportion to its results, not to the scope; caches of a scope are never stale."""

from __future__ import annotations

from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import event

from gaia_memory.facts import SqlFacts
from gaia_memory.models import Draft, NewFact
from support.databases import ITAY, NOW, database, memory_database

__all__ = ["database"]

FACTS = 3_000
LEAST_STEPS = 1_000
"""SQLite's progress is told once in so many steps of its machine."""


def drafts(count, *, first=0):
    return [
        Draft(fact=NewFact(f"note {number} tea" if not number % 300 else f"note {number}", session_id="s", seq=number),
              source="add")
        for number in range(first, first + count)
    ]  # fmt: skip


@contextmanager
def steps(opened):
    """Count the steps of SQLite, in thousands."""
    told = [0]

    def step():
        told[0] += 1

    def hear(connection, record, proxy):
        connection.driver_connection._conn.set_progress_handler(step, LEAST_STEPS)

    event.listen(opened.engine.sync_engine, "checkout", hear)
    try:
        yield told
    finally:
        event.remove(opened.engine.sync_engine, "checkout", hear)


SEARCHES = {
    "get": lambda facts, tx, ids: facts.get(tx, ITAY, ids),
    "neighbours": lambda facts, tx, ids: facts.neighbours_of(tx, ITAY, ids, 3),
    "match": lambda facts, tx, ids: facts.match(tx, ITAY, "tea", limit=5),
}


@pytest.mark.parametrize("search", SEARCHES)
async def test_a_few_facts_are_found_without_reading_the_rest(tmp_path, search):
    """SQLite takes fewer steps for five facts of 3,000 than it has facts: it knows no statistics that tell it how."""
    async with memory_database("sqlite", tmp_path) as opened:
        facts = SqlFacts()
        async with opened.transaction() as tx:
            written = await facts.write(tx, ITAY, drafts(FACTS), now=NOW)
        ids = [fact.id for fact in written[:: FACTS // 5]]
        async with opened.read_transaction() as tx:
            await facts.match(tx, ITAY, "tea", limit=5)
        with steps(opened) as told:
            async with opened.read_transaction() as tx:
                found = await SEARCHES[search](facts, tx, ids)

    assert len(found) >= 5
    assert told[0] * LEAST_STEPS < FACTS


async def undone(database, kept):
    """Write, read and roll back."""
    with suppress(RuntimeError):
        async with database.transaction() as tx:
            await SqlFacts().write(tx, ITAY, drafts(90, first=10), now=NOW)
            await kept.idf(tx, ITAY, [["tea"]])
            raise RuntimeError


async def test_the_weights_of_words_are_those_of_now(database):
    """Who kept the size of a scope counts anew after somebody else wrote; a write that was undone leaves none."""
    kept, other = SqlFacts(), SqlFacts()
    async with database.transaction() as tx:
        await other.write(tx, ITAY, drafts(1), now=NOW)
    async with database.read_transaction() as tx:
        alone = await kept.idf(tx, ITAY, [["tea"]])
    async with database.transaction() as tx:
        await other.write(tx, ITAY, drafts(9, first=1), now=NOW)
    async with database.read_transaction() as tx:
        among_ten = await kept.idf(tx, ITAY, [["tea"]])
        assert among_ten == await SqlFacts().idf(tx, ITAY, [["tea"]])
    assert among_ten > alone

    await undone(database, kept)
    async with database.transaction() as tx:
        await other.write(tx, ITAY, drafts(1, first=10), now=NOW)
    async with database.read_transaction() as tx:
        assert await kept.idf(tx, ITAY, [["tea"]]) == await SqlFacts().idf(tx, ITAY, [["tea"]])


async def test_many_facts_become_what_few_become(database):
    """Written at once in several statements, some twice and some known before: each comes back as it is read."""
    facts = SqlFacts()
    async with database.transaction() as tx:
        known = await facts.write(tx, ITAY, drafts(3), now=NOW)
    many = [*drafts(450), *drafts(7)]
    async with database.transaction() as tx:
        written = await facts.write(tx, ITAY, many, now=NOW)
    async with database.read_transaction() as tx:
        read = await facts.facts(tx, ITAY)

    assert written == [*read, *read[:7]]
    assert written[:3] == known
    assert [fact.text for fact in read] == [draft.fact.text for draft in drafts(450)]
