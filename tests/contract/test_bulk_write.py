"""A bulk write leaves the same database as single writes."""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select, text

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.facts import SqlFacts, tables
from gaia_memory.facts.rows import new_ids
from gaia_memory.models import Draft, NewFact
from support.databases import ITAY, NOA, NOW, database, make_draft, memory_database

__all__ = ["database"]

facts = SqlFacts()


async def numbers(database):
    """Return all rows of facts, of their words and of their sources."""
    key = "rowid" if database.is_local else "fact_row"
    async with database.read_transaction() as tx:
        rows = list((await tx.execute(select(tables.facts.c.row).order_by(tables.facts.c.row))).scalars())
        words = list((await tx.execute(text(f"SELECT {key} FROM gaia_words ORDER BY 1"))).scalars())
        told = list((await tx.execute(select(tables.sources.c.fact_row).order_by(text("1")))).scalars())
    return rows, words, told


async def test_the_number_of_a_fact_is_never_given_twice(database):
    """Also where the last facts are gone: what was noted of theirs would be taken for the new one's."""
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft("one"), make_draft("two")], now=NOW)
        gone = await facts.write(tx, NOA, [make_draft(f"note {number}") for number in range(30)], now=NOW)
    before, _, _ = await numbers(database)
    async with database.transaction() as tx:
        await facts.delete(tx, NOA, [fact.id for fact in gone])
        await facts.write(tx, NOA, [make_draft("three"), make_draft("Three."), make_draft("four")], now=NOW)
    rows, words, told = await numbers(database)

    assert rows[:2] == before[:2]
    assert len(rows) == 4
    assert min(rows[2:]) > max(before)
    assert rows == words == sorted(told)


async def test_a_source_is_known_again_by_what_was_hashed_of_it(database):
    """The hash is that of sorted JSON: databases hold it, and the same source stands once."""
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
        await facts.write(tx, ITAY, [plain, full, full], now=NOW)
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
        await facts.write(tx, ITAY, [make_draft(f"secretly note {number} " * 50) for number in range(900)], now=NOW)


async def test_a_database_without_room_takes_all_or_nothing(tmp_path):
    """And memory says so in its own words, which hold nothing of what was to be kept."""
    async with memory_database("sqlite", tmp_path) as opened:
        with pytest.raises(MemoryUnavailable, match="full") as told:
            await written_into(opened, pages=60)
        async with opened.read_transaction() as tx:
            assert await facts.count(tx, ITAY) == 0

    assert "secretly" not in str(told.value)


def test_new_ids_are_random_uuids():
    """Of version 4, as each one by itself."""
    made = new_ids(2_000)

    assert len(set(made)) == 2_000
    assert all(str(uuid.UUID(one)) == one for one in made)
    assert {uuid.UUID(one).version for one in made} == {4}
    assert {one[19] for one in made} == set("89ab")
    assert new_ids(0) == []
