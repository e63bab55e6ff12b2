"""Counts, days and changes of one person's facts, on each kind of database."""

from __future__ import annotations

from datetime import timedelta

from gaia_memory.database.sql_engine import Database
from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.models import DayCounts, Draft, FactChange, FactEnd, NewFact, Scope
from support.databases import ITAY, NOA, NOW, database

__all__ = ["database"]

FACTS = FactStore()


async def write(database: Database, scope: Scope, *texts: str, days_ago: float = 0, **details: str) -> list[str]:
    """Store facts; return their ids."""
    at = NOW - timedelta(days=days_ago)
    drafts = [Draft(fact=NewFact(text, said_at=at, **details), source="add") for text in texts]  # type: ignore[arg-type]
    async with database.transaction() as tx:
        return [fact.id for fact in await FACTS.writer.write(tx, scope, drafts, now=at)]


async def kinds(database: Database, scope: Scope, *, after: int = 0) -> list[tuple[str, str | None]]:
    """Return what happened to a person's facts."""
    return [(each.kind, each.fact_id) for each in await changes(database, scope, after=after)]


async def changes(database: Database, scope: Scope, *, after: int = 0, limit: int = 100) -> list[FactChange]:
    """Return the changes of a person's facts."""
    async with database.read_transaction() as tx:
        return await FACTS.changes(tx, scope, after=after, limit=limit)


async def end(database: Database, scope: Scope, fact_id: str, **more: str) -> None:
    """End a fact."""
    async with database.transaction() as tx:
        ending = FactEnd(fact_id=fact_id, ended_at=NOW, why="retracted", actor="host", **more)  # type: ignore[arg-type]
        assert await FACTS.history.end_facts(tx, scope, [ending], now=NOW) == []


async def test_counts_are_by_label_and_day_and_of_one_person(database: Database) -> None:
    """A fact that ended does not count; another person's neither."""
    await write(database, ITAY, "Allergic to nuts", "Allergic to bees", category="health", days_ago=1.4)
    [tea, _] = await write(database, ITAY, "Likes tea", "Likes rum", context="work", agent="cook")
    await write(database, NOA, "Likes gin", category="drinks")
    await end(database, ITAY, tea)

    async with database.read_transaction() as tx:
        counts = await FACTS.counts(tx, ITAY)
        nothing = await FACTS.counts(tx, Scope("gaia", "unknown"))

    assert (counts.total, counts.category, counts.context) == (3, {"": 1, "health": 2}, {"global": 2, "work": 1})
    assert (counts.source, counts.agent) == ({"add": 3}, {"": 2, "cook": 1})
    assert counts.day == {(NOW - timedelta(days=1.4)).date(): 2, NOW.date(): 1}
    assert (nothing.total, nothing.category, nothing.day) == (0, {}, {})


async def test_a_day_ends_at_midnight_utc(database: Database) -> None:
    """Not half a second before."""
    midnight = NOW.replace(hour=0)
    await write(database, ITAY, "Late", days_ago=(NOW - midnight + timedelta(seconds=0.3)) / timedelta(days=1))
    await write(database, ITAY, "Early", days_ago=(NOW - midnight) / timedelta(days=1))

    async with database.read_transaction() as tx:
        assert (await FACTS.counts(tx, ITAY)).day == {(midnight - timedelta(days=1)).date(): 1, midnight.date(): 1}


async def test_days_tell_what_was_stored_and_what_ended(database: Database) -> None:
    """From the day of `since` on; what ended was stored, too; another person's days are not counted."""
    await write(database, ITAY, "Too long ago", days_ago=9)
    [old] = await write(database, ITAY, "Old", days_ago=2)
    await write(database, ITAY, "New")
    [other, _] = await write(database, NOA, "Hers", "Hers too")
    await end(database, ITAY, old)
    await end(database, NOA, other)

    async with database.read_transaction() as tx:
        days = await FACTS.days(tx, ITAY, since=NOW - timedelta(days=2))

    assert days == [
        DayCounts(day=(NOW - timedelta(days=2)).date(), added=1),
        DayCounts(day=NOW.date(), added=1, ended=1),
    ]


async def test_a_correction_is_stored_and_ends_a_statement_on_its_day(database: Database) -> None:
    """The fact itself was created before, and its wordings are listed as they followed each other."""
    [fact_id] = await write(database, ITAY, "Likes tea", days_ago=3)
    for days_ago, text in ((2, "Likes green tea"), (1, "Likes white tea")):
        at = NOW - timedelta(days=days_ago)
        async with database.transaction() as tx:
            draft = Draft(fact=NewFact(text, said_at=at), source="remember")
            corrected = await FACTS.corrections.reword(tx, ITAY, fact_id, draft, actor="host", now=at)
            assert corrected is not None
            assert corrected.created_at == NOW - timedelta(days=3)

    async with database.read_transaction() as tx:
        days = await FACTS.days(tx, ITAY, since=NOW - timedelta(days=9))
        past = await FACTS.history.past(tx, ITAY)

    assert [(NOW.date() - each.day, each.added, each.ended) for each in days] == [
        (timedelta(days=3), 1, 0),
        (timedelta(days=2), 1, 1),
        (timedelta(days=1), 1, 1),
    ]
    assert [each.fact.text for each in past.values()] == ["Likes tea", "Likes green tea"]


async def test_a_text_is_found_by_parts_of_its_words(database: Database) -> None:
    """In any case and order, each part; of one person."""
    [tea, _, street] = await write(database, ITAY, "Likes Green TEA", "Likes tea", "Grünstraße")
    await write(database, NOA, "Likes green tea")

    async with database.read_transaction() as tx:
        assert await FACTS.ids_containing(tx, ITAY, ["tea", "gree"]) == [tea]
        assert await FACTS.ids_containing(tx, ITAY, ["STRASSE"]) == [street]
        assert await FACTS.ids_containing(tx, ITAY, ["rum"]) == []


async def test_a_text_is_found_whatever_characters_it_has(database: Database) -> None:
    """Quotes, line breaks, controls, emoji, and an accent that was typed as a letter of its own."""
    texts = ['Says "hi" to C:\\new', "Line one\nline \x01 two\u2028three", "Has a dog 🐕", "Likes cafe\u0301s", "null"]
    ids = await write(database, ITAY, *texts)
    parts = ['"hi" to c:\\new', "one\nline \x01 two\u2028", "🐕", "CAF\u00c9", "null"]

    async with database.read_transaction() as tx:
        found = [await FACTS.ids_containing(tx, ITAY, [part]) for part in parts]
        everything = await FACTS.ids_containing(tx, ITAY, [])
        nothing = await FACTS.ids_containing(tx, NOA, ["null"])

    assert found == [[fact_id] for fact_id in ids]
    assert (everything, nothing) == (list(ids), [])


async def test_changes_tell_what_happened_in_order(database: Database) -> None:
    """A fact is added once, however often it is said; it ends, comes back and is forgotten."""
    [tea, rum] = await write(database, ITAY, "Likes tea", "Likes rum")
    await write(database, ITAY, "Likes tea")
    await write(database, NOA, "Likes gin")
    await end(database, ITAY, tea)
    async with database.transaction() as tx:
        await FACTS.corrections.restore(tx, ITAY, tea, actor="host", now=NOW)
        await FACTS.delete(tx, ITAY, [rum])

    found = await changes(database, ITAY)
    assert [(each.kind, each.fact_id) for each in found] == [
        ("added", tea),
        ("added", rum),
        ("replaced", tea),
        ("added", tea),
        ("forgotten", rum),
    ]
    assert [each.fact and each.fact.text for each in found] == ["Likes tea", None, "Likes tea", "Likes tea", None]
    assert await changes(database, ITAY, limit=2) == found[:2]
    assert await changes(database, ITAY, after=found[2].number) == found[3:]
    async with database.read_transaction() as tx:
        assert await FACTS.last_change(tx, ITAY) == found[-1].number
        assert await FACTS.last_change(tx, Scope("gaia", "unknown")) == 0


async def test_a_correction_and_its_undoing_are_one_change_each(database: Database) -> None:
    """The fact keeps its id, so the ids of its wordings are told to nobody."""
    [home] = await write(database, ITAY, "Lives in Rome", days_ago=1)
    draft = Draft(fact=NewFact("Lives in Oslo", said_at=NOW), source="remember")
    async with database.transaction() as tx:
        await FACTS.corrections.reword(tx, ITAY, home, draft, actor="host", now=NOW)
    async with database.transaction() as tx:
        await FACTS.corrections.restore(tx, ITAY, home, actor="host", now=NOW)

    assert await kinds(database, ITAY) == [("added", home), ("replaced", home), ("replaced", home)]


async def test_forgetting_everything_leaves_one_change(database: Database) -> None:
    """No id of a fact stays, and another person's changes do."""
    await write(database, ITAY, "Likes tea", "Likes rum")
    [gin] = await write(database, NOA, "Likes gin")
    async with database.transaction() as tx:
        await FACTS.delete_all(tx, ITAY, forgotten_at=NOW.timestamp())

    assert await kinds(database, ITAY) == [("forgotten", None)]
    assert await kinds(database, NOA) == [("added", gin)]


async def test_a_merge_is_told_on_both_sides(database: Database) -> None:
    """What moves is added there, and here everything is gone."""
    [tea] = await write(database, ITAY, "Likes tea")
    before = await changes(database, ITAY)
    async with database.transaction() as tx:
        await merge_scopes(FACTS, tx, ITAY, NOA)

    assert await kinds(database, NOA) == [("added", tea)]
    assert await kinds(database, ITAY, after=before[-1].number) == [("forgotten", None)]
