"""Everybody who is known is counted in SQL, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gaia_memory.database.metadata import dialect_insert
from gaia_memory.database.sql_engine import Database
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.ledger import Ledger
from gaia_memory.ledger.memory_stores import MemoryStores
from gaia_memory.ledger.rows import new_row_values
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import PersonSummary, Scope, SessionKey
from gaia_memory.transfer.merge_people import load_people
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

LATER = NOW + timedelta(hours=1)


async def add_conversation(stores: MemoryStores, key: SessionKey, *, touched: float, **columns: Any) -> None:
    """Write the row of a conversation."""
    async with stores.database.transaction() as tx:
        values = new_row_values(key, touched=touched) | columns
        await tx.execute(dialect_insert(tx, conversations).values(values))


@pytest.fixture
async def stores(database: Database) -> MemoryStores:
    """Return stores with facts of two users, of which one also talks in two apps, and with a forgotten user."""
    stores = MemoryStores(database, FactStore(), Ledger(), Outbox())
    async with database.transaction() as tx:
        await stores.facts.writer.write(tx, NOA, [make_draft("Likes tea"), make_draft("Has a dog")], now=NOW)
        await stores.facts.writer.write(tx, ITAY, [make_draft("Likes figs")], now=LATER)
    waiting = {"turn_no": 2, "learned_turn_no": 1}
    learned = {"turn_no": 2, "learned_turn_no": 2}
    await add_conversation(stores, SessionKey("gaia", "itay", "one"), touched=1_000.0, **waiting)
    await add_conversation(stores, SessionKey("gaia", "itay", "two"), touched=3_000.0, **learned)
    await add_conversation(stores, SessionKey("shop", "itay", "one"), touched=2_000.0, **waiting)
    await add_conversation(stores, SessionKey("gaia", "tal", "one"), touched=2_000.0, **learned)
    return stores


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def test_everybody_is_listed_with_counts_and_times(stores: MemoryStores) -> None:
    """A user without facts is listed while a conversation is to be learned, and not once all is forgotten."""
    found = await load_people(stores, app_scoped=True)

    assert found == [
        PersonSummary(scope=ITAY, facts=1, pending=1, last_message_at=at(3_000.0), last_change_at=LATER),
        PersonSummary(scope=Scope("shop", "itay"), pending=1, last_message_at=at(2_000.0)),
        PersonSummary(scope=NOA, facts=2, last_change_at=NOW),
    ]


async def test_a_memory_across_apps_counts_the_conversations_of_all(stores: MemoryStores) -> None:
    """With `memory.scope: user` a scope has no app, but its conversations have."""
    async with stores.database.transaction() as tx:
        await stores.facts.writer.write(tx, Scope(None, "itay"), [make_draft("Likes figs")], now=NOW)
    found = {each.scope: each for each in await load_people(stores, app_scoped=False)}

    shared = PersonSummary(scope=Scope(None, "itay"), facts=1, pending=2, last_change_at=NOW)
    assert found[Scope(None, "itay")] == replace(shared, last_message_at=at(3_000.0))


async def test_an_app_is_nobody(stores: MemoryStores) -> None:
    """Its facts belong to all of its users."""
    before = await load_people(stores, app_scoped=True)
    async with stores.database.transaction() as tx:
        await stores.facts.writer.write(tx, Scope.app_wide("gaia"), [make_draft("Closes at nine")], now=NOW)

    assert await load_people(stores, app_scoped=True) == before
