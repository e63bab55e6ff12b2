"""Recall from the column cache gives the same results as the database."""

from __future__ import annotations

import dataclasses
from itertools import cycle

import pytest
from sqlalchemy import case, select, update

from gaia_memory.facts import SqlFacts, tables
from gaia_memory.facts.indexing.reindex_batches import SqlIndexes
from gaia_memory.language.text_features import unpack_features
from gaia_memory.models import index_fact
from gaia_memory.recall.index import column_cache as room
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import build_fact_columns
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import DateRetriever, KeywordRetriever
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOA, NOW, database, make_draft
from support.storage.rare_tokens import noise_facts, planted_facts

__all__ = ["database"]

facts = SqlFacts()


async def write(database, scope, *texts):
    drafts = [make_draft(text, session="s", seq=seq) for seq, text in enumerate(texts)]
    async with database.transaction() as tx:
        return await facts.write(tx, scope, drafts, now=NOW)


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


async def test_what_is_written_or_forgotten_by_anybody_is_seen_at_once(database):
    """Another process raises the revision in the database: nothing is told to this one."""
    shelves = ColumnCache(database, facts)
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


async def test_a_shelf_made_from_an_earlier_one_equals_one_made_anew(database):
    """Words of texts that stay are not read again, and stand where they belong."""
    shelves = ColumnCache(database, facts)
    rows = [f"{name}: {fact}" for (fact, _), name in zip(planted_facts(44, seed=5), cycle(["Noa", "Dan", "Eli"]))]
    first = await write(database, ITAY, *rows[:30])
    await shelves.get(ITAY)
    async with database.transaction() as tx:
        await facts.delete(tx, ITAY, [each.id for each in first[:5]])
    await write(database, ITAY, *rows[20:], "call +49 151 234-567 by wi-fi", "Is it in Rome?", "Zoe was here at 5")
    later = await shelves.get(ITAY)

    async with database.read_transaction() as tx:
        anew = build_fact_columns(await facts.indexed_facts(tx, ITAY))
    assert shown(later) == shown(anew)


async def test_lines_are_what_the_facts_say(database):
    """The way from a row and the way from a fact give the same shelf."""
    async with database.transaction() as tx:
        given = [
            make_draft("Tim: hi", session="s", seq=3, said_at=NOW, author="Tim"),
            make_draft("tea", speaker="user"),
        ]
        written = await facts.write(tx, ITAY, given, now=NOW)
        lines = {line.id: line for line in await facts.indexed_facts(tx, ITAY)}
        assert await facts.indexed_facts(tx, NOA) == []

    assert [lines[fact.id] for fact in written] == [index_fact(fact) for fact in written]
    assert [unpack_features(lines[fact.id].features).speaker for fact in written] == ["tim", "user"]


async def test_traits_of_an_earlier_version_are_worked_out_from_the_text(database):
    """Until the facts are indexed anew, and after that they are kept."""
    given = [
        make_draft("Tim: is it wi-fi?", session="s", seq=3, author="Tim"),
        make_draft("Anna was in Rome", session="s", seq=4),
    ]
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, given, now=NOW)
        written = await facts.indexed_facts(tx, ITAY)
        missing = update(tables.facts).values(traits=case((tables.facts.c.seq == 3, None), else_=b"\x00old"))
        await tx.execute(missing)
        assert await facts.indexed_facts(tx, ITAY) == written

        indexes = SqlIndexes()
        await indexes.begin_keyword_rebuild(tx, from_scratch=True)
        while await indexes.rebuild_keywords(tx, limit=1) is not None:
            pass
        kept = (await tx.execute(select(tables.facts.c.traits).order_by(tables.facts.c.row))).scalars().all()
    assert kept == [line.features for line in written]


async def test_large_scopes_are_left_to_the_index_and_old_shelves_make_room(database, monkeypatch):
    """Memory is bounded, whoever is asked about."""
    monkeypatch.setattr(room, "MAX_CACHED_SCOPE_FACTS", 3)
    monkeypatch.setattr(room, "MAX_CACHED_FACTS", 4)
    shelves = ColumnCache(database, facts)
    await write(database, ITAY, "a", "b", "c")
    await write(database, NOA, "d", "e")
    first = await shelves.get(ITAY)
    await shelves.get(NOA)

    assert await shelves.get(ITAY) is not first
    await write(database, ITAY, "f")
    assert await shelves.get(ITAY) is None


@pytest.mark.parametrize("seed", [1, 2])
async def test_both_ways_of_finding_put_the_same_facts_first(database, seed):
    """Where the index finds everything that holds a word, the order is that of the scope in memory."""
    rows = list(planted_facts(33, seed=seed))
    async with database.transaction() as tx:
        given = [make_draft(fact, session="s", seq=seq) for seq, (fact, _) in enumerate(rows)]
        given += [make_draft(text) for text in noise_facts(30, seed=seed)]
        await facts.write(tx, ITAY, given, now=NOW)
    ways = [KeywordRetriever(database, facts), DateRetriever(database, facts)]
    by_index = Recall(database, facts, ways, FakeClock()).recall
    in_memory = Recall(database, facts, ways, FakeClock(), column_cache=ColumnCache(database, facts)).recall

    for fact, question in rows:
        found = [[hit.fact.text for hit in await recall(ITAY, question, limit=3)] for recall in (by_index, in_memory)]
        assert fact in found[0]
        assert found[0][:1] == found[1][:1], question
    assert await in_memory(NOA, rows[0][1], limit=3) == []
