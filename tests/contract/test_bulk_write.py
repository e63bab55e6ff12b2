"""A bulk write leaves the same database as single writes."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select, text

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.facts import FactStore, tables
from gaia_memory.models import Draft, NewFact
from support.databases import ITAY, NOA, NOW, database, make_draft, memory_database

__all__ = ["database"]

facts = FactStore()


async def numbers(database):
    """Return the row numbers of facts and of their sources."""
    async with database.read_transaction() as tx:
        rows = list((await tx.execute(select(tables.facts.c.row).order_by(tables.facts.c.row))).scalars())
        of_sources = select(tables.facts.c.row).join(tables.sources, tables.sources.c.fact_id == tables.facts.c.id)
        told = list((await tx.execute(of_sources.order_by(text("1")))).scalars())
    return rows, told


async def test_a_row_number_is_never_reused(database):
    """Otherwise data of a deleted last fact would be taken for that of a new one."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft("one"), make_draft("two")], now=NOW)
        gone = await facts.writer.write(tx, NOA, [make_draft(f"note {number}") for number in range(30)], now=NOW)
    before, _ = await numbers(database)
    async with database.transaction() as tx:
        await facts.delete(tx, NOA, [fact.id for fact in gone])
        await facts.writer.write(tx, NOA, [make_draft("three"), make_draft("Three."), make_draft("four")], now=NOW)
    rows, told = await numbers(database)

    assert rows[:2] == before[:2]
    assert len(rows) == 4
    assert min(rows[2:]) > max(before)
    assert rows == sorted(told)


async def test_a_source_is_identified_by_a_stable_hash(database):
    """It is the hash of sorted JSON, which databases already contain; an equal source is stored once."""
    said_at = datetime(2024, 3, 1, 12, 30, 0, 250_000, tzinfo=timezone(timedelta(hours=2)))
    session, events = 'a "b"\\ \u00e9\u2028', ('e"1', "\u00e92")
    plain = Draft(fact=NewFact("likes tea"), source="add")
    full = Draft(
        fact=NewFact("has a dog", said_at=said_at, session_id=session, seq=7),
        source="conversation",
        app="gaia chat",
        event_ids=events,
    )
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [plain, full, full], now=NOW)
        found = (await tx.execute(select(tables.sources).order_by(tables.sources.c.row))).all()

    assert [row.event_ids for row in found] == [[], list(events)]
    for row in found:
        noted = {"kind": row.kind, "app": row.app, "session_id": row.session_id, "seq": row.seq}
        noted |= {"said_at": row.said_at, "event_ids": row.event_ids}
        assert row.origin == hashlib.sha256(json.dumps(noted, sort_keys=True).encode()).hexdigest()
    assert found[1].said_at == said_at.astimezone(UTC).timestamp()


async def written_into(opened, *, pages):
    async with opened.transaction() as tx:
        await tx.execute(text(f"PRAGMA max_page_count={pages}"))
        await facts.writer.write(
            tx, ITAY, [make_draft(f"secretly note {number} " * 50) for number in range(900)], now=NOW
        )


async def test_a_write_to_a_full_database_is_atomic(tmp_path):
    """The error has our own message, which contains none of the text."""
    async with memory_database("sqlite", tmp_path) as opened:
        with pytest.raises(MemoryUnavailable, match="full") as told:
            await written_into(opened, pages=60)
        async with opened.read_transaction() as tx:
            assert await facts.count(tx, ITAY) == 0

    assert "secretly" not in str(told.value)
