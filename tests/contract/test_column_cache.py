"""The columns in memory follow the facts of the database."""

from __future__ import annotations

import dataclasses
from itertools import cycle

from sqlalchemy import case, select, update

from gaia_memory.facts import FactStore, tables
from gaia_memory.facts.sql_indexes import Indexes
from gaia_memory.language.text_features import unpack_features
from gaia_memory.recall.index.bounded_cache import BoundedCache
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import build_fact_columns
from support.databases import ITAY, NOA, NOW, database, make_draft
from support.recall_parts import index_fact, no_limit

__all__ = ["database"]

facts = FactStore()


async def write(database, scope, *texts):
    drafts = [make_draft(text, session="s", seq=seq) for seq, text in enumerate(texts)]
    async with database.transaction() as tx:
        return await facts.writer.write(tx, scope, drafts, now=NOW)


def ids(shelf):
    return {each.decode() for each in shelf.ids.tolist()}


def shown(shelf):
    """Return the columns as plain values."""
    columns = {field.name: getattr(shelf, field.name) for field in dataclasses.fields(shelf)}
    plain = {name: vars(column) if hasattr(column, "select") else {"": column} for name, column in columns.items()}
    return {
        (name, part): repr(getattr(value, "tolist", lambda value=value: value)())
        for name, parts in plain.items()
        for part, value in parts.items()
        if part not in ("rows", "lengths")
    }


async def test_writes_and_deletes_are_visible_at_once(database):
    """Every change raises the revision in the database; no notification is needed."""
    shelves = ColumnCache(database, facts, no_limit())
    tea, dog = await write(database, ITAY, "likes tea", "has a dog")
    [chess] = await write(database, NOA, "plays chess")
    assert ids(await shelves.get(ITAY)) == {tea.id, dog.id}
    assert await shelves.get(ITAY) is await shelves.get(ITAY)

    async with database.transaction() as tx:
        await facts.delete(tx, ITAY, [dog.id])
    assert ids(await shelves.get(ITAY)) == {tea.id}

    [flute] = await write(database, ITAY, "plays the flute")
    assert ids(await shelves.get(ITAY)) == {tea.id, flute.id}
    assert ids(await shelves.get(NOA)) == {chess.id}


async def test_columns_updated_incrementally_equal_rebuilt_ones(database):
    """Words of unchanged texts are not read again."""
    shelves = ColumnCache(database, facts, no_limit())
    words = [
        f"{word}{number}"
        for number in range(11)
        for word in ("Zo\u00e9-Gwen", "\u043a\u043e\u0448\u043a\u0430", "\u4e91\u5cf0", "+49 30 ")
    ]
    rows = [f"{name}: I met {word} at the market" for word, name in zip(words, cycle(["Noa", "Dan", "Eli"]))]
    first = await write(database, ITAY, *rows[:30])
    await shelves.get(ITAY)
    async with database.transaction() as tx:
        await facts.delete(tx, ITAY, [each.id for each in first[:5]])
    await write(database, ITAY, *rows[20:], "call +49 151 234-567 by wi-fi", "Is it in Rome?", "Zoe was here at 5")
    later = await shelves.get(ITAY)

    async with database.read_transaction() as tx:
        anew = build_fact_columns(await facts.indexed_facts(tx, ITAY))
    assert shown(later) == shown(anew)


async def test_index_lines_read_from_the_database_equal_those_built_from_facts(database):
    """Both ways give the same columns."""
    async with database.transaction() as tx:
        given = [
            make_draft("Tim: hi", session="s", seq=3, said_at=NOW, author="Tim"),
            make_draft("tea", speaker="user"),
        ]
        written = await facts.writer.write(tx, ITAY, given, now=NOW)
        lines = {line.id: line for line in await facts.indexed_facts(tx, ITAY)}
        assert await facts.indexed_facts(tx, NOA) == []

    assert [lines[fact.id] for fact in written] == [index_fact(fact) for fact in written]
    assert [unpack_features(lines[fact.id].features).speaker for fact in written] == ["tim", "user"]


async def test_features_of_an_older_version_are_recomputed_from_the_text(database):
    """After a reindex the stored features are used again."""
    given = [
        make_draft("Tim: is it wi-fi?", session="s", seq=3, author="Tim"),
        make_draft("Anna was in Rome", session="s", seq=4),
    ]
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, given, now=NOW)
        written = await facts.indexed_facts(tx, ITAY)
        missing = update(tables.facts).values(traits=case((tables.facts.c.seq == 3, None), else_=b"\x00old"))
        await tx.execute(missing)
        assert await facts.indexed_facts(tx, ITAY) == written

        indexes = Indexes()
        await indexes.mark_outdated(tx)
        while await indexes.rebuild_features(tx, limit=1):
            pass
        kept = (await tx.execute(select(tables.facts.c.traits).order_by(tables.facts.c.row))).scalars().all()
    assert kept == [line.features for line in written]


async def test_scopes_asked_long_ago_make_room_and_one_large_scope_is_cached_alone(database):
    """Memory is bounded by `memory.recall.cache_mb`, and by the largest scope."""
    columns = ColumnCache(database, facts, BoundedCache(lambda: 1))
    await write(database, ITAY, "a", "b", "c")
    await write(database, NOA, "d", "e")
    first = await columns.get(ITAY)
    await columns.get(NOA)

    assert await columns.get(ITAY) is not first
    whole = await columns.get(ITAY)
    assert len(whole) == 3
    assert await columns.get(ITAY) is whole


async def test_scopes_that_fit_are_kept(database):
    """What is derived from the columns counts, too."""
    cache = BoundedCache(lambda: 10_000_000)
    columns = ColumnCache(database, facts, cache)
    await write(database, ITAY, "a", "b", "c")
    await write(database, NOA, "d", "e")
    first = await columns.get(ITAY)
    await columns.get(NOA)
    before = cache.total_bytes
    assert first.neighbours is not None

    assert await columns.get(ITAY) is first
    assert cache.total_bytes > before
