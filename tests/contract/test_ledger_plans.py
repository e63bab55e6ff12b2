"""The cost of a sweep depends on the due conversations only: each query uses a selective index."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select, text

from gaia_memory.ledger import Ledger, process_name
from gaia_memory.ledger.tables import IS_SWEEPABLE, conversations
from gaia_memory.models import SessionKey, TurnRequest
from support.databases import database
from support.storage.populated_ledger import APP, DUE_COUNT, NOW, POPULATIONS, QUIET_SINCE, populate_ledger

__all__ = ["database"]

KNOWN = 1500
ledger = Ledger()

MARKS = ("talking", "talkers", "leased", "workers", "put_off")
SEARCHES = {
    "expire": (
        lambda tx: ledger.expire(tx, now=NOW),
        {"talking", "talkers", "leased", "workers", "put_off", "at_rest"},
    ),
    "due": (lambda tx: ledger.due(tx, quiet_since=QUIET_SINCE, limit=20, apps=[APP]), {"free"}),
    "forced": (lambda tx: ledger.due(tx, quiet_since=None, limit=20, apps=[APP]), {"at_rest"}),
    "elsewhere": (lambda tx: ledger.sessions_waiting_in_other_apps(tx, apps=[APP]), {"at_rest"}),
    "pending of one person": (lambda tx: ledger.pending(tx, user="person 7", app=APP), {"undone"}),
    "rewound": (lambda tx: ledger.find_purgeable(tx, before=NOW, limit=9, apps=[APP]), {"rewound"}),
}


@contextmanager
def statements(opened):
    """Collect the executed statements."""
    told = []

    def hear(connection, cursor, statement, parameters, context, many):
        told.append((statement, parameters))

    event.listen(opened.engine.sync_engine, "before_cursor_execute", hear)
    try:
        yield told
    finally:
        event.remove(opened.engine.sync_engine, "before_cursor_execute", hear)


async def plan_of(tx, statement, parameters):
    """Return the database's plan of a statement."""
    explain = "EXPLAIN" if tx.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    return "\n".join(str(step) for step in (await tx.exec_driver_sql(f"{explain} {statement}", parameters)).all())


def reads_all(plan):
    """Return whether a plan scans the whole table."""
    return bool(re.search(r"Seq Scan on gaia_conversations|SCAN gaia_conversations(?! USING)", plan))


@pytest.mark.parametrize("mix", POPULATIONS)
async def test_no_query_reads_conversations_that_are_not_due(database, mix):
    """For every mix of known conversations and on each database, the plans use the index made for them."""
    await populate_ledger(database, mix, KNOWN)
    for name, (search, indexes) in SEARCHES.items():
        with statements(database) as told:
            async with database.transaction() as tx:
                found = await search(tx)
        if name == "due":
            assert len(found) == DUE_COUNT
        async with database.transaction() as tx:
            for statement, parameters in told:
                if "gaia_conversations" not in statement:
                    continue
                plan = await plan_of(tx, statement, parameters)
                used = set(re.findall(r"ix_gaia_conversations_(\w+)", plan))

                assert not reads_all(plan), f"{name}: {statement}\n{plan}"
                assert used, f"{name}: {statement}\n{plan}"
                assert used <= indexes, f"{name}: {statement}\n{plan}"


async def test_expired_turns_are_looked_up_by_engine_and_not_by_turn(database):
    """Each turn has its own name; the marks of a dead engine are all removed in one statement."""
    await populate_ledger(database, "talked in", KNOWN)
    with statements(database) as few:
        async with database.transaction() as tx:
            await ledger.expire(tx, now=NOW)
    gone = process_name().rpartition("-")[0] + "-1/a1b2"
    async with database.transaction() as tx:
        for name in (gone, f"{gone}/7", f"{gone}/8~", f"{gone}0"):
            key = SessionKey(APP, "late", name)
            await ledger.begin_turn(tx, key, TurnRequest(owner=name), now=NOW, lease_seconds=900)
    with statements(database) as some:
        async with database.transaction() as tx:
            await ledger.expire(tx, now=NOW)
    async with database.read_transaction() as tx:
        owners = {row.active_owner for row in await tx.execute(select(conversations.c.active_owner).distinct())}

    assert len(few) < 15
    assert len(some) < len(few) + 8
    assert not any(owner.startswith(gone) for owner in owners if owner)
    assert len(owners) > KNOWN - 2 * DUE_COUNT


async def test_the_index_read_by_a_sweep_contains_only_learnable_conversations(database):
    """Entries for parked conversations and the like would be read every time."""
    await populate_ledger(database, "parked", KNOWN)
    async with database.transaction() as tx:
        table = "gaia_conversations INDEXED BY ix_gaia_conversations_free"
        if tx.dialect.name == "postgresql":
            # The number that a new index has counts rows, too, that are deleted and still seen by a vacuum.
            table = "gaia_conversations"
            await tx.execute(text("SET LOCAL enable_seqscan = off"))
            plan = await tx.execute(text(f"EXPLAIN SELECT 1 FROM {table} WHERE {IS_SWEEPABLE.text}"))
            assert any("ix_gaia_conversations_free" in line for line in plan.scalars())
        count = f"SELECT count(*) FROM {table} WHERE {IS_SWEEPABLE.text}"
        assert (await tx.execute(text(count))).scalar_one() == DUE_COUNT
