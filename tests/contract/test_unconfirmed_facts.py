"""The mark of what a model wrote goes when the person says it, on each database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import UNCONFIRMED_KEY, Draft, NewFact
from support.databases import ITAY, NOW, database

__all__ = ["database"]

facts, outbox = FactStore(), Outbox()
WRITTEN = Draft(fact=NewFact("Likes tea", metadata={UNCONFIRMED_KEY: True, "mood": "good"}), source="agent")


def again(**changes: object) -> Draft:
    """Return the same statement without the mark."""
    return replace(Draft(fact=NewFact("likes  TEA."), source="conversation", app="gaia"), **changes)


async def written_twice(database, second: Draft):
    """Write the fact and a second statement of it; return what is stored, and whether the copies are outdated."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [WRITTEN], now=NOW)
        await outbox.acknowledge(tx, await outbox.dirty(tx, limit=9))
    async with database.transaction() as tx:
        [returned] = await facts.writer.write(tx, ITAY, [second], now=NOW)
    async with database.read_transaction() as tx:
        [stored] = await facts.facts(tx, ITAY)
        assert returned == stored
        return stored, bool(await outbox.dirty(tx, limit=9))


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(again(), id="learned"),
        pytest.param(again(source="remember"), id="remembered"),
        pytest.param(again(source="agent"), id="written again after the person said it"),
        pytest.param(again(fact=NewFact("Likes tea", metadata={"attributed_to": "user"})), id="attributed to the user"),
    ],
)
async def test_the_person_confirms_a_fact_by_saying_it(database, second):
    """The mark goes, the metadata of both is kept, and copies follow."""
    stored, is_outdated = await written_twice(database, second)

    assert dict(stored.metadata) == {"mood": "good", **second.fact.metadata}
    assert (stored.text, stored.source, is_outdated) == ("Likes tea", "agent", True)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(WRITTEN, id="written by a model again"),
        pytest.param(again(is_imported=True), id="imported"),
        pytest.param(again(fact=NewFact("Likes tea", metadata={"attributed_to": "assistant"})), id="assistant's claim"),
    ],
)
async def test_nobody_else_confirms_a_fact(database, second):
    """The mark stays."""
    stored, is_outdated = await written_twice(database, second)

    assert (stored.is_unconfirmed, is_outdated) == (True, False)


async def test_a_known_fact_does_not_become_unconfirmed(database):
    """The person said it first."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [again()], now=NOW)
        [fact] = await facts.writer.write(tx, ITAY, [WRITTEN], now=NOW)

    assert (fact.is_unconfirmed, fact.source) == (False, "conversation")
