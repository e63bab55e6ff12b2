"""Facts are read in proportion to their number, not to the scope, and written in few statements."""

from __future__ import annotations

from contextlib import contextmanager

from sqlalchemy import event

from gaia_memory.facts import FactStore
from gaia_memory.models import Draft, NewFact
from support.databases import ITAY, NOA, NOW, database, memory_database

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


async def test_finding_a_few_facts_does_not_read_all_facts(tmp_path):
    """SQLite must find five of 3,000 facts in fewer steps than there are facts, without statistics."""
    async with memory_database("sqlite", tmp_path) as opened:
        facts = FactStore()
        async with opened.transaction() as tx:
            written = await facts.writer.write(tx, ITAY, drafts(FACTS), now=NOW)
        ids = [fact.id for fact in written[:: FACTS // 5]]
        async with opened.read_transaction() as tx:
            await facts.get(tx, ITAY, ids)
        with steps(opened) as told:
            async with opened.read_transaction() as tx:
                found = await facts.get(tx, ITAY, ids)

    assert len(found) == 5
    assert told[0] * LEAST_STEPS < FACTS


async def test_facts_written_in_several_statements_equal_those_read_back(database):
    """Some of the 450 facts are duplicates and some were stored before."""
    facts = FactStore()
    async with database.transaction() as tx:
        known = await facts.writer.write(tx, ITAY, drafts(3), now=NOW)
    many = [*drafts(450), *drafts(7)]
    async with database.transaction() as tx:
        written = await facts.writer.write(tx, ITAY, many, now=NOW)
    async with database.read_transaction() as tx:
        read = await facts.facts(tx, ITAY)

    assert written == [*read, *read[:7]]
    assert written[:3] == known
    assert [fact.text for fact in read] == [draft.fact.text for draft in drafts(450)]


async def test_finding_what_is_due_reads_neither_other_facts_nor_other_people(tmp_path):
    """Five of 3,000 facts of one person are due, and 2,000 of others."""
    async with memory_database("sqlite", tmp_path) as opened:
        facts = FactStore()
        due = [Draft(fact=NewFact(f"due {at}", due_at=NOW), source="add") for at in range(2_000)]
        async with opened.transaction() as tx:
            await facts.writer.write(tx, ITAY, [*drafts(FACTS), *due[:5]], now=NOW)
            await facts.writer.write(tx, NOA, due, now=NOW)
        async with opened.read_transaction() as tx:
            await facts.due_facts.due(tx, ITAY, until=NOW)
        with steps(opened) as told:
            async with opened.read_transaction() as tx:
                found = await facts.due_facts.due(tx, ITAY, until=NOW)

    assert len(found) == 5
    assert told[0] * LEAST_STEPS < FACTS
