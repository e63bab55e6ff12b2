"""Filters, paging and extra scopes of recall, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.facts import SqlFacts, SqlOutbox
from gaia_memory.facts import sql_facts as room
from gaia_memory.learn.embed_drafts import embed_drafts
from gaia_memory.ledger.sql_ledger import SqlLedger
from gaia_memory.models import Draft, NewFact, Scope, compile_filters
from gaia_memory.ports.stores import MemoryStores
from gaia_memory.recall.browse import load_page
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import DateRetriever, KeywordRetriever, VectorRetriever
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, NOW, database

__all__ = ["database"]

facts = SqlFacts()
HOME = Scope("gaia", "household")
DAY = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(params=["shelf", "store"])
def recall(request, database):
    """Return recall over the column cache, and over the search for large scopes."""
    retrievers = [
        KeywordRetriever(database, facts),
        DateRetriever(database, facts),
        VectorRetriever(database, facts, ScriptedEmbedder()),
    ]
    shelves = ColumnCache(database, facts) if request.param == "shelf" else None
    return Recall(database, facts, retrievers, FakeClock(), settings=RecallSettings(candidates=5), column_cache=shelves)


async def write(database, scope, *given):
    drafts = await embed_drafts(ScriptedEmbedder(), [Draft(fact=each, source="add") for each in given])
    async with database.transaction() as tx:
        return await facts.write(tx, scope, drafts, now=NOW)


def runs(number, category):
    return NewFact(
        f"Runs in park {number}",
        said_at=DAY + timedelta(days=number),
        session_id="phone",
        seq=number,
        metadata={"category": category},
    )


def stores_of(database):
    return MemoryStores(database, facts, SqlLedger(), SqlOutbox())


async def asked(recall, question, scope=ITAY, limit=10, beside=(), **filters):
    meant = compile_filters(filters) if filters else None
    found = await recall.explain(scope, question, limit=limit, predicate=meant, extra_scopes=beside)
    return [hit.fact.text for hit in found.hits]


async def test_only_what_is_meant_is_recalled_and_all_of_it(recall, database):
    """Among many that answer better, as many as are asked for."""
    await write(database, ITAY, *(runs(number, "health") for number in range(40)))
    await write(database, ITAY, *(runs(number, "work") for number in range(40, 43)))

    assert sorted(await asked(recall, "Which park for runs?", category="work")) == [
        f"Runs in park {number}" for number in (40, 41, 42)
    ]
    assert len(await asked(recall, "Which park for runs?", category="health")) == 10
    assert await asked(recall, "Which park for runs?", category="food") == []


async def test_a_range_of_time_is_asked_for(recall, database):
    """With its first moment and without its last."""
    await write(database, ITAY, *(runs(number, "health") for number in range(20)))

    found = await asked(recall, "Which park for runs?", said_at={"gte": "2026-02-04", "lt": "2026-02-06"})

    assert sorted(found) == ["Runs in park 3", "Runs in park 4"]


async def test_neighbours_that_are_not_meant_are_not_shown(recall, database):
    """What stands beside an answer comes with it only where it is meant, too."""
    question = NewFact("Where does your sister live?", session_id="s", seq=1, metadata={"category": "family"})
    answer = NewFact("In Haifa", session_id="s", seq=2, metadata={"category": "places"})
    await write(database, ITAY, question, answer)

    assert set(await asked(recall, "Where does the sister live?")) == {question.text, answer.text}
    assert await asked(recall, "Where does the sister live?", category="family") == [question.text]


async def test_nobody_else_is_recalled_or_shown_by_a_filter(recall, database):
    """Whatever the filter, the scope is the border."""
    await write(database, ITAY, runs(1, "health"))
    await write(database, NOA, runs(2, "health"))

    assert await asked(recall, "Which park for runs?", category="health") == ["Runs in park 1"]
    async with database.read_transaction() as tx:
        [only] = await facts.ids_matching(tx, NOA, compile_filters({"category": "health"}))
        assert [each.text for each in (await facts.get(tx, NOA, [only])).values()] == ["Runs in park 2"]
    page = await load_page(stores_of(database), NOA, compile_filters({"category": "health"}), offset=0, limit=10)
    assert ([fact.text for fact in page.facts], page.total) == (["Runs in park 2"], 1)


async def test_every_fact_is_looked_at_however_many_there_are(database, monkeypatch):
    """They are gone through in pieces; the last one may be full, and none comes twice."""
    monkeypatch.setattr(room, "_PAGE_ROWS", 4)
    written = await write(database, ITAY, *(runs(number, "health") for number in range(8)))

    async with database.read_transaction() as tx:
        assert await facts.ids_matching(tx, ITAY, compile_filters({})) == [fact.id for fact in written]
        assert await facts.ids_matching(tx, ITAY, compile_filters({"seq": {"gte": 6}})) == [
            fact.id for fact in written[6:]
        ]
        assert await facts.ids_matching(tx, NOA, compile_filters({})) == []


@pytest.mark.parametrize("filters", [None, {"category": "health"}], ids=["all", "filtered"])
async def test_pages_show_everything_once_in_order(database, filters):
    """Oldest first, and the last page says that it is."""
    await write(database, ITAY, *(runs(number, "health") for number in range(7)))
    meant = None if filters is None else compile_filters(filters)

    pages = [await load_page(stores_of(database), ITAY, meant, offset=offset, limit=3) for offset in (0, 3, 6, 9)]

    assert [fact.seq for page in pages for fact in page.facts] == list(range(7))
    assert [page.has_more for page in pages] == [True, True, False, False]
    assert {page.total for page in pages} == {7}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"offset": -1}, "offset is -1"),
        ({"offset": "3"}, "offset is '3'"),
        ({"limit": 0}, "limit is 0: pass 1 to 100"),
        ({"limit": 101}, "limit is 101"),
    ],
)
async def test_a_page_that_cannot_be_is_refused(database, wrong, words):
    """With the argument, its value and what to pass."""
    with pytest.raises(InvalidInputError) as caught:
        await load_page(stores_of(database), ITAY, None, **{"offset": 0, "limit": 10, **wrong})

    assert words in str(caught.value)


async def test_other_scopes_answer_beside_ones_own(recall, database):
    """The best of all come first, what both know once and as one's own, and nobody who is not named."""
    await write(database, ITAY, NewFact("The wifi password hint is blue"))
    await write(database, HOME, NewFact("the  wifi password hint is blue"), NewFact("The wifi router stands upstairs"))
    await write(database, NOA, NewFact("The wifi router is mine"))

    found = await recall.explain(ITAY, "Where does the wifi router stand?", limit=5, extra_scopes=[HOME, ITAY])

    assert [(hit.fact.text, hit.fact.scope) for hit in found.hits] == [
        ("The wifi router stands upstairs", HOME),
        ("The wifi password hint is blue", ITAY),
    ]
    assert await asked(recall, "wifi router") == ["The wifi password hint is blue"]


async def test_the_limit_is_one_for_all_scopes(recall, database):
    """However many are asked."""
    await write(database, ITAY, *(runs(number, "health") for number in range(6)))
    await write(database, HOME, *(runs(number, "health") for number in range(10, 16)))

    found = await asked(recall, "Which park for runs?", limit=4, beside=[HOME])

    assert len(found) == 4
