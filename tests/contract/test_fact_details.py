"""Every detail of a fact and of its sources is stored and read back, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, insert, select

from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.facts.scopes import ensure_scope
from gaia_memory.facts.tables import endings, past_facts, sources
from gaia_memory.models import Draft, NewFact, Origin, Scope
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = FactStore(FakeClock(NOW))
DAY = timedelta(days=1)
DETAILS = {
    "category": "chores",
    "entity": "the bins",
    "context": "family",
    "agent": "planner",
    "sensitive": True,
    "due_at": NOW + DAY,
    "due_zone": "Europe/Berlin",
    "due_all_day": True,
    "every": "FREQ=WEEKLY;BYDAY=MO",
    "reminded_at": NOW - DAY,
    "valid_from": NOW - 3 * DAY,
    "valid_until": NOW + 30 * DAY,
    "first_said_at": NOW - 9 * DAY,
    "in_doubt_since": NOW - 2 * DAY,
}
FULL = Draft(
    fact=NewFact("Takes out the bins on Mondays", said_at=NOW, session_id="itay:cli", seq=1, **DETAILS),
    source="agent",
    app="gaia",
    event_ids=("e1", "e2"),
    turn_event_ids=("e2",),
    noted_at=NOW - 5 * DAY,
    agent="other",
    channel="cli",
    excerpt="the bins, on Mondays",
    extractor="gemini/flash/mem0-1",
    origin_scope="gaia:ada",
    origin_id="f-1",
)


async def test_every_detail_of_a_fact_is_read_back(database):
    """The fact that the write returns equals the stored one."""
    async with database.transaction() as tx:
        [written] = await facts.writer.write(tx, ITAY, [FULL], now=NOW)
    async with database.read_transaction() as tx:
        [stored] = await facts.facts(tx, ITAY)
        origins = await facts.provenance.origins(tx, ITAY)

    assert stored == written
    assert {name: getattr(stored, name) for name in DETAILS} == DETAILS
    assert origins == {
        stored.id: [
            Origin(
                source="agent",
                app="gaia",
                session_id="itay:cli",
                seq=1,
                said_at=NOW,
                event_ids=("e1", "e2"),
                turn_event_ids=("e2",),
                noted_at=NOW - 5 * DAY,
                agent="other",
                channel="cli",
                excerpt="the bins, on Mondays",
                extractor="gemini/flash/mem0-1",
                origin_scope="gaia:ada",
                origin_id="f-1",
            )
        ]
    }


async def test_a_fact_without_details_has_the_defaults(database):
    """It was first said when it was said; its source was noted when it was written, by its agent."""
    async with database.transaction() as tx:
        await facts.writer.write(
            tx, ITAY, [Draft(fact=NewFact("x", said_at=NOW - DAY, agent="a"), source="add")], now=NOW
        )
    async with database.read_transaction() as tx:
        [stored] = await facts.facts(tx, ITAY)
        [origin] = (await facts.provenance.origins(tx, ITAY))[stored.id]

    assert (stored.category, stored.context, stored.sensitive, stored.due_at) == (None, "global", False, None)
    assert stored.first_said_at == NOW - DAY
    assert (origin.noted_at, origin.agent, origin.turn_event_ids, origin.is_imported) == (NOW, "a", (), False)


async def test_the_category_in_the_metadata_is_that_of_the_column(database):
    """The column is the truth; the name stays in the metadata only where the caller passed it there."""
    async with database.transaction() as tx:
        drafts = [make_draft("one", category="health"), make_draft("two")]
        drafts[1] = replace(drafts[1], fact=replace(drafts[1].fact, category="work"))
        await facts.writer.write(tx, ITAY, drafts, now=NOW)
        await tx.exec_driver_sql("UPDATE gaia_facts SET category = 'sport' WHERE category = 'health'")
    async with database.read_transaction() as tx:
        one, two = await facts.facts(tx, ITAY)

    assert (one.category, one.metadata) == ("sport", {"category": "sport"})
    assert (two.category, two.metadata) == ("work", {})


async def test_a_tool_call_of_version_0_1_is_recognised(database):
    """Its source was `remember`: the same call again is no further source."""
    told = Draft(fact=NewFact("likes tea"), source="remember", app="gaia", event_ids=("e1",))
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [told, replace(told, source="agent")], now=NOW)
        count = (await tx.execute(select(func.count()).select_from(sources))).scalar()

    assert count == 1


async def put_into_history(tx, scope: Scope, fact_id: str) -> None:
    """Write a past fact with its source and ending."""
    await ensure_scope(tx, scope)
    row = {"id": fact_id, "partition": scope.partition, "text": "lived in Oslo", "normal": fact_id, "source": "add"}
    row |= {"metadata": {}, "version": 1, "created_at": 1.0, "updated_at": 1.0}
    await tx.execute(insert(past_facts).values(row))
    ending = {"partition": scope.partition, "fact_id": fact_id, "ended_at": 2.0, "noted_at": 2.0, "actor": "person"}
    await tx.execute(insert(endings).values(**ending, why="replaced"))
    source = {"fact_id": fact_id, "origin": fact_id, "kind": "add", "event_ids": [], "noted_at": 1.0}
    await tx.execute(insert(sources).values(source))


async def history_of(tx) -> dict[str, tuple[str, str]]:
    """Return the partition of each past fact and of its ending."""
    joined = select(past_facts.c.id, past_facts.c.partition, endings.c.partition.label("ended_in")).join(
        endings, endings.c.fact_id == past_facts.c.id
    )
    return {row.id: (row.partition, row.ended_in) for row in await tx.execute(joined)}


async def test_forgetting_everything_erases_the_history_of_this_scope_only(database):
    """With the sources of past facts; the number is in the receipt."""
    async with database.transaction() as tx:
        await put_into_history(tx, ITAY, "a")
        await put_into_history(tx, NOA, "b")
        removed = await facts.delete_all(tx, ITAY, forgotten_at=1.0)
    async with database.read_transaction() as tx:
        left = await history_of(tx)
        sourced = (await tx.execute(select(sources.c.fact_id))).scalars().all()

    assert removed["history"] == 1
    assert left == {"b": (NOA.partition, NOA.partition)}
    assert sourced == ["b"]


async def test_a_merge_moves_the_history_of_this_scope_only(database):
    """Facts keep their ids, so the sources stay with them."""
    other = Scope("gaia", "dora")
    async with database.transaction() as tx:
        await put_into_history(tx, ITAY, "a")
        await put_into_history(tx, other, "b")
        await merge_scopes(facts, tx, ITAY, NOA)
    async with database.read_transaction() as tx:
        assert await history_of(tx) == {
            "a": (NOA.partition, NOA.partition),
            "b": (other.partition, other.partition),
        }


async def test_sources_that_a_merge_copies_name_the_fact_they_came_from(database):
    """A fact known of both ids is stored once."""
    async with database.transaction() as tx:
        [mine] = await facts.writer.write(tx, ITAY, [make_draft("likes tea", session="s1", events=["e1"])], now=NOW)
        [kept] = await facts.writer.write(tx, NOA, [make_draft("likes tea", session="s2", events=["e2"])], now=NOW)
        await merge_scopes(facts, tx, ITAY, NOA)
    async with database.read_transaction() as tx:
        own, copied = (await facts.provenance.origins(tx, NOA))[kept.id]

    assert (own.session_id, own.origin_scope, own.origin_id) == ("s2", None, None)
    assert (copied.session_id, copied.origin_scope, copied.origin_id) == ("s1", ITAY.partition, mine.id)


async def test_an_app_wide_scope_is_stored_apart_and_listed(database):
    """No user of the app has its partition."""
    shared, tricky = Scope.app_wide("gaia"), Scope("gaia", ":app")
    async with database.transaction() as tx:
        await facts.writer.write(tx, shared, [make_draft("open until nine")], now=NOW)
        await facts.writer.write(tx, tricky, [make_draft("likes tea")], now=NOW)
    async with database.read_transaction() as tx:
        assert set(await facts.scopes(tx)) == {shared, tricky}
        assert [fact.scope for fact in await facts.facts(tx, shared)] == [shared]
        assert [fact.text for fact in await facts.facts(tx, tricky)] == ["likes tea"]


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
async def test_the_first_and_the_last_moment_are_kept(database, moment):
    """Also as a time at which a fact is due."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [Draft(fact=NewFact("x", due_at=moment), source="add")], now=NOW)
    async with database.read_transaction() as tx:
        [stored] = await facts.facts(tx, ITAY)

    assert abs(stored.due_at - moment) < timedelta(milliseconds=1)
