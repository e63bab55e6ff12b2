"""Searching facts by date, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gaia_memory.facts import FactStore
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.query.dates import parse_dates
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOA, NOW, database, make_draft
from support.recall_parts import Models, no_limit

__all__ = ["database"]

facts = FactStore()


async def said(database, scope, *moments):
    """Write one fact for each time, with the day as its text, and return the texts by id."""
    drafts = [make_draft(f"said on {moment:%Y-%m-%d}", said_at=moment) for moment in moments]
    async with database.transaction() as tx:
        written = await facts.writer.write(tx, scope, [*drafts, make_draft("said at no known time")], now=NOW)
    return {fact.id: fact.text for fact in written}


def at(year, month, day):
    return datetime(year, month, day, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What happened in May 2023?", ["said on 2023-05-31", "said on 2023-05-01"]),
        ("What happened on 31 May 2023?", ["said on 2023-05-31", "said on 2023-05-01"]),
        ("What happened in May?", ["said on 2024-05-02", "said on 2023-05-31", "said on 2023-05-01"]),
        (
            "What happened in 2023?",
            ["said on 2023-12-31", "said on 2023-06-01", "said on 2023-05-31", "said on 2023-05-01"],
        ),
        ("What happened?", []),
    ],
)
async def test_facts_of_the_dates_in_a_question_are_found(database, query, found):
    """A month without a year is one of any year, and the whole month of a day is looked up."""
    moments = [at(2023, 5, 1), at(2023, 5, 31), at(2023, 6, 1), at(2023, 12, 31), at(2024, 5, 2)]
    texts = await said(database, ITAY, *moments)
    await said(database, NOA, at(2023, 5, 1))

    columns = await ColumnCache(database, facts, no_limit()).get(ITAY)
    indices = columns.find_dates(parse_dates(query))

    assert {texts[fact_id.decode()] for fact_id in columns.ids[indices].tolist()} == set(found)


async def test_a_fact_without_a_word_of_the_question_is_recalled_by_its_date(database):
    """It ranks behind a fact that matches both words and date."""
    moment = at(2022, 5, 25)
    rows = [("Look here, a puppy!", moment), ("Nate likes tea", moment - timedelta(300)), ("Nate sleeps", moment)]
    drafts = [make_draft(text, said_at=when) for text, when in rows]
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, drafts, now=NOW)
    recall = Recall(database, facts, Models(), FakeClock()).recall

    hits = (await recall(ITAY, "What did Nate do on 25 May 2022?", limit=5)).hits

    assert hits[0].fact.text == "Nate sleeps"
    puppy = next(hit for hit in hits if hit.fact.text == "Look here, a puppy!")
    assert puppy.why["dates"] > 0
    assert "keywords" not in puppy.why


@pytest.mark.parametrize("query", ["What did I say in 2022?", "in May"])
async def test_a_fact_found_only_by_its_date_has_a_score(database, query):
    """The score is low but above the usual threshold."""
    rows = [("Look here, a puppy!", at(2022, 5, 25)), ("I love tea", at(2021, 4, 1))]
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft(text, said_at=when) for text, when in rows], now=NOW)
    recall = Recall(database, facts, Models(), FakeClock()).recall

    hits = (await recall(ITAY, query, limit=5, threshold=0.1)).hits

    assert [hit.fact.text for hit in hits] == ["Look here, a puppy!"]
    assert sum(hits[0].why.values()) == pytest.approx(hits[0].score)
