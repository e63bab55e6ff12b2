"""Every source of a fact can be read, on each database."""

from datetime import UTC, datetime

from gaia_memory.facts import SqlFacts
from gaia_memory.models import Draft, NewFact, Origin
from support.databases import ITAY, NOA, NOW, database

__all__ = ["database"]

facts = SqlFacts()
SAID = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


async def test_the_sources_of_a_fact_are_returned_oldest_first(database):
    """They have every field and belong to this scope only."""
    told = Draft(
        fact=NewFact("Sister is Noa", said_at=SAID, session_id="itay:cli", seq=4),
        source="conversation",
        app="gaia",
        event_ids=("e1", "e2"),
    )
    async with database.transaction() as tx:
        [fact, _] = await facts.write(tx, ITAY, [told, Draft(fact=NewFact("sister is noa."), source="add")], now=NOW)
        await facts.write(tx, NOA, [told], now=NOW)

    async with database.read_transaction() as tx:
        found = await facts.origins(tx, ITAY)
    first = Origin(
        source="conversation",
        app="gaia",
        session_id="itay:cli",
        seq=4,
        said_at=SAID,
        event_ids=("e1", "e2"),
        noted_at=NOW,
    )
    assert found == {fact.id: [first, Origin(source="add", noted_at=NOW)]}
