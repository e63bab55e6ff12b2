"""Short ids of facts, and which facts a conversation was shown, on each database."""

from __future__ import annotations

from sqlalchemy import select, update

from gaia_memory.facts import FactStore
from gaia_memory.facts.tables import facts as table
from gaia_memory.facts.tables import shown_facts
from gaia_memory.models import SessionKey
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = FactStore()
KEY = SessionKey("gaia", "itay", "itay:cli")
OTHER = SessionKey("gaia", "itay", "itay:phone")


async def write(database, scope, *texts):
    async with database.transaction() as tx:
        return [each.id for each in await facts.writer.write(tx, scope, [make_draft(text) for text in texts], now=NOW)]


async def shown(database, scope=ITAY, key=KEY):
    async with database.read_transaction() as tx:
        return sorted(await facts.shown.shown_ids(tx, scope, key))


async def test_a_short_id_has_six_characters_or_as_many_as_tell_facts_of_the_scope_apart(database):
    """The facts of another person do not count."""
    ids = await write(database, ITAY, "likes tea", "likes figs", "has a boat")
    [foreign] = await write(database, NOA, "likes milk")
    alike = ["a1b2c3d4-0", "a1b2c3d5-0", "ffffff00-0", "ffffff00-1"]
    async with database.transaction() as tx:
        for old, new in zip([*ids, foreign], alike, strict=True):
            await tx.execute(update(table).where(table.c.id == old).values(id=new))
    async with database.read_transaction() as tx:
        short_ids = await facts.shown.short_ids(tx, ITAY, KEY, [*alike, "unknown"])

    texts = {fact_id: each.text for fact_id, each in short_ids.items()}
    assert texts == {"a1b2c3d4-0": "#a1b2c3d4", "a1b2c3d5-0": "#a1b2c3d5", "ffffff00-0": "#ffffff"}


async def test_a_short_id_tells_whether_its_conversation_was_shown_the_fact(database):
    """Each conversation has facts of its own, also among more ids than one statement compares."""
    ids = await write(database, ITAY, *(f"likes tea of kind {n}" for n in range(120)))
    async with database.transaction() as tx:
        await facts.shown.record_shown(tx, ITAY, KEY, ids[::2])
        await facts.shown.record_shown(tx, ITAY, OTHER, ids[:2])
    async with database.read_transaction() as tx:
        of_one, of_other = [await facts.shown.short_ids(tx, ITAY, key, ids) for key in (KEY, OTHER)]

    assert of_one.keys() == of_other.keys() == set(ids)
    assert {fact_id for fact_id, each in of_one.items() if each.is_shown} == set(ids[::2])
    assert {fact_id for fact_id, each in of_other.items() if each.is_shown} == set(ids[:2])


async def test_what_a_conversation_was_shown_is_noted_once_and_for_its_scope(database):
    """Ids of another person, unknown ids and other conversations are left out."""
    mine, foreign = await write(database, ITAY, "likes tea", "likes figs"), await write(database, NOA, "likes milk")
    async with database.transaction() as tx:
        for _ in range(2):
            await facts.shown.record_shown(tx, ITAY, KEY, [*mine, *foreign, "unknown"])

    assert await shown(database) == sorted(mine)
    assert await shown(database, key=OTHER) == await shown(database, NOA) == []


async def test_a_fact_that_moves_to_another_person_is_not_theirs_to_name(database):
    """The row stays with the conversation; the scope decides."""
    await write(database, ITAY, "likes tea")
    [fact_id] = await write(database, NOA, "likes milk")
    async with database.transaction() as tx:
        await facts.shown.record_shown(tx, NOA, KEY, [fact_id])

    assert await shown(database) == []


async def test_forgetting_erases_what_was_shown(database):
    """One fact, all facts, and a conversation that begins from scratch."""
    first, second = await write(database, ITAY, "likes tea", "likes figs")
    async with database.transaction() as tx:
        await facts.shown.record_shown(tx, ITAY, KEY, [first, second])
        await facts.shown.record_shown(tx, ITAY, OTHER, [first, second])
        await facts.delete(tx, ITAY, [first])
    assert await shown(database) == [second]

    async with database.transaction() as tx:
        await facts.shown.forget_shown(tx, KEY)
    assert (await shown(database), await shown(database, key=OTHER)) == ([], [second])

    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=NOW.timestamp())
        rows = (await tx.execute(select(shown_facts))).all()
    assert rows == []
