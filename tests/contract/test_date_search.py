"""Searching facts by date, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gaia_memory.facts import SqlFacts
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import DateRetriever, KeywordRetriever
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = SqlFacts()


async def said(database, scope, *moments):
    """Write one fact for each time, named by its day, and return the names by id."""
    drafts = [make_draft(f"said on {moment:%Y-%m-%d}", said_at=moment) for moment in moments]
    async with database.transaction() as tx:
        written = await facts.write(tx, scope, [*drafts, make_draft("said at no known time")], now=NOW)
    return {fact.id: fact.text for fact in written}


def at(year, month, day):
    return datetime(year, month, day, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What happened in May 2023?", ["said on 2023-05-31", "said on 2023-05-01"]),
        ("What happened on 31 May 2023?", ["said on 2023-05-31"]),
        ("What happened in May?", ["said on 2024-05-02", "said on 2023-05-31", "said on 2023-05-01"]),
        ("What happened in December 2023?", ["said on 2023-12-31"]),
        ("2023-12-31?", ["said on 2023-12-31"]),
        ("What happened on 31 April 2023?", []),
        (
            "What happened in 2023?",
            ["said on 2023-12-31", "said on 2023-06-01", "said on 2023-05-31", "said on 2023-05-01"],
        ),
        ("What happened?", []),
    ],
)
async def test_the_months_and_days_a_question_names_are_looked_up(database, query, found):
    """The latest first; a day that no month has is none."""
    moments = [at(2023, 5, 1), at(2023, 5, 31), at(2023, 6, 1), at(2023, 12, 31), at(2024, 5, 2)]
    texts = await said(database, ITAY, *moments)
    await said(database, NOA, at(2023, 5, 1))

    hits = await DateRetriever(database, facts).retrieve(ITAY, query, limit=10)

    assert [texts[hit.fact_id] for hit in hits] == found


async def test_no_more_than_the_limit_and_the_last_years_are_looked_through(database):
    """However long somebody has talked, and whatever years a host made up."""
    moments = [datetime(1, 5, 1, tzinfo=UTC), *(at(2000 + year, 5, 1) for year in range(20)), at(9999, 12, 30)]
    await said(database, ITAY, *moments)
    retriever = DateRetriever(database, facts)

    assert len(await retriever.retrieve(ITAY, "in May 2019, 2018, 2017 and 2016", limit=3)) == 3
    assert await retriever.retrieve(ITAY, "in December", limit=3) == []
    assert await retriever.retrieve(ITAY, "in 2099 and in December 2099", limit=3) == []
    assert await retriever.retrieve(NOA, "in May", limit=3) == []
    async with database.read_transaction() as tx:
        assert await facts.years(tx, ITAY) == list(range(1, 10_000))
        assert await facts.years(tx, NOA) == []


async def test_a_fact_that_holds_no_word_of_the_question_is_recalled_by_its_date(database):
    """Its words may be quite other ones; it comes behind what holds words and was said then, too."""
    moment = at(2022, 5, 25)
    rows = [("Look here, a puppy!", moment), ("Nate likes tea", moment - timedelta(300)), ("Nate sleeps", moment)]
    drafts = [make_draft(text, said_at=when) for text, when in rows]
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, drafts, now=NOW)
    recall = Recall(
        database, facts, [KeywordRetriever(database, facts), DateRetriever(database, facts)], FakeClock()
    ).recall

    hits = await recall(ITAY, "What did Nate do on 25 May 2022?", limit=5)

    assert hits[0].fact.text == "Nate sleeps"
    puppy = next(hit for hit in hits if hit.fact.text == "Look here, a puppy!")
    assert puppy.why["dates"] > 0
    assert "keywords" not in puppy.why


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("query", ["What did I say in 2022?", "2022", "What did I say in May 2022?", "in May"])
async def test_what_only_its_date_finds_has_a_score(database, query, in_memory):
    """A low one, above the thresholds that keep nothing out; what holds words comes before it."""
    rows = [("Look here, a puppy!", at(2022, 5, 25)), ("I love tea", at(2021, 4, 1))]
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft(text, said_at=when) for text, when in rows], now=NOW)
    ways = [KeywordRetriever(database, facts), DateRetriever(database, facts)]
    recall = Recall(
        database, facts, ways, FakeClock(), column_cache=ColumnCache(database, facts) if in_memory else None
    ).recall

    hits = await recall(ITAY, query, limit=5, threshold=0.1)

    assert [hit.fact.text for hit in hits] == ["Look here, a puppy!"]
    assert sum(hits[0].why.values()) == pytest.approx(hits[0].score)
