"""The search for words, on each database."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaia_memory.facts import FactStore
from gaia_memory.models import Scope
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOW, database, make_draft
from support.recall_parts import Models

__all__ = ["database"]

facts = FactStore()


async def found(database, query, *texts, scope=ITAY, limit=10):
    """Write texts for ITAY and return those that a query finds, best first."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft(text) for text in texts], now=NOW)
    return await search(database, query, scope=scope, limit=limit)


async def search(database, query, *, scope=ITAY, limit=10):
    recall = Recall(database, facts, Models(), FakeClock())
    return [fact.text for fact in await recall.find_by_words(scope, query, limit=limit)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=40), query=st.text(max_size=40))
async def test_no_text_and_no_query_can_break_the_index(database, text, query):
    """Texts and queries are generated from any characters."""
    scope = Scope("gaia", "fuzz")
    async with database.transaction() as tx:
        await facts.writer.write(tx, scope, [make_draft(f"x {text}")], now=NOW)
    await search(database, query, scope=scope)

    assert await search(database, "x", scope=scope)
