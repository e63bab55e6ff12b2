"""Filters, paging and extra scopes of recall, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.drafts.embed_drafts import embed_drafts
from gaia_memory.errors import InvalidInputError
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.facts import fact_store as room
from gaia_memory.ledger.ledger import Ledger
from gaia_memory.ledger.memory_stores import MemoryStores
from gaia_memory.models import Draft, NewFact, Scope, compile_filters
from gaia_memory.recall.browse import load_page
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, NOW, database
from support.recall_parts import Models, recall_config

__all__ = ["database"]

facts = FactStore()
HOME = Scope("gaia", "household")
DAY = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(params=[1.0, 0.0], ids=["words and vectors", "vectors alone"])
def recall(request, database):
    """Return recall by words and vectors, and by vectors alone."""
    settings = recall_config(candidates=10, keywords=request.param)
    return Recall(database, facts, Models(), FakeClock(), lambda: MemoryConfig(recall=settings))


async def write(database, scope, *given):
    drafts = await embed_drafts(ScriptedEmbedder(), [Draft(fact=each, source="add") for each in given])
    async with database.transaction() as tx:
        return await facts.writer.write(tx, scope, drafts, now=NOW)


def runs(number, category):
    return NewFact(
        f"Runs in park {number}",
        said_at=DAY + timedelta(days=number),
        session_id="phone",
        seq=number,
        metadata={"category": category},
    )


def stores_of(database):
    return MemoryStores(database, facts, Ledger(), Outbox())


async def asked(recall, question, scope=ITAY, limit=10, beside=(), **filters):
    meant = compile_filters(filters) if filters else None
    found = await recall.recall(scope, question, limit=limit, predicate=meant, extra_scopes=beside)
    return [hit.fact.text for hit in found.hits]


async def test_recall_returns_all_facts_that_match_the_filter_and_no_others(recall, database):
    """This holds among many better answers, up to the limit."""
    await write(database, ITAY, *(runs(number, "health") for number in range(40)))
    await write(database, ITAY, *(runs(number, "work") for number in range(40, 43)))

    assert sorted(await asked(recall, "Which park for runs?", category="work")) == [
        f"Runs in park {number}" for number in (40, 41, 42)
    ]
    assert len(await asked(recall, "Which park for runs?", category="health")) == 10
    assert await asked(recall, "Which park for runs?", category="food") == []


async def test_a_time_range_includes_its_start_and_excludes_its_end(recall, database):
    """The filter uses `gte` and `lt`."""
    await write(database, ITAY, *(runs(number, "health") for number in range(20)))

    found = await asked(recall, "Which park for runs?", said_at={"gte": "2026-02-04", "lt": "2026-02-06"})

    assert sorted(found) == ["Runs in park 3", "Runs in park 4"]


async def test_neighbours_that_do_not_match_the_filter_are_not_returned(recall, database):
    """A neighbour of a hit is only returned if it matches as well."""
    question = NewFact("Where does your sister live?", session_id="s", seq=1, metadata={"category": "family"})
    answer = NewFact("In Haifa", session_id="s", seq=2, metadata={"category": "places"})
    await write(database, ITAY, question, answer)

    assert set(await asked(recall, "Where does the sister live?")) == {question.text, answer.text}
    assert await asked(recall, "Where does the sister live?", category="family") == [question.text]


async def test_a_filter_never_returns_facts_of_another_user(recall, database):
    """Every filter applies within the scope."""
    await write(database, ITAY, runs(1, "health"))
    await write(database, NOA, runs(2, "health"))

    assert await asked(recall, "Which park for runs?", category="health") == ["Runs in park 1"]
    async with database.read_transaction() as tx:
        [only] = await facts.ids_matching(tx, NOA, compile_filters({"category": "health"}))
        assert [each.text for each in (await facts.get(tx, NOA, [only])).values()] == ["Runs in park 2"]
    page = await load_page(stores_of(database), NOA, compile_filters({"category": "health"}), offset=0, limit=10)
    assert ([fact.text for fact in page.facts], page.total) == (["Runs in park 2"], 1)


async def test_a_filter_checks_every_fact_once(database, monkeypatch):
    """Facts are read in pages, and the last page may be full."""
    monkeypatch.setattr(room, "_PAGE_ROWS", 4)
    written = await write(database, ITAY, *(runs(number, "health") for number in range(8)))

    async with database.read_transaction() as tx:
        assert await facts.ids_matching(tx, ITAY, compile_filters({})) == [fact.id for fact in written]
        assert await facts.ids_matching(tx, ITAY, compile_filters({"seq": {"gte": 6}})) == [
            fact.id for fact in written[6:]
        ]
        assert await facts.ids_matching(tx, NOA, compile_filters({})) == []


@pytest.mark.parametrize("filters", [None, {"category": "health"}], ids=["all", "filtered"])
async def test_pages_contain_every_fact_once_in_order(database, filters):
    """Facts are listed oldest first, and the last page says that it is the last."""
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
        ({"limit": 101}, "limit is 101"),
    ],
)
async def test_an_invalid_page_is_refused(database, wrong, words):
    """The message contains the argument, its value and the allowed values."""
    with pytest.raises(InvalidInputError) as caught:
        await load_page(stores_of(database), ITAY, None, **{"offset": 0, "limit": 10, **wrong})

    assert words in str(caught.value)


async def test_extra_scopes_are_recalled_together_with_the_own_scope(recall, database):
    """Hits are ranked together; a fact known to both is returned once, as the user's own."""
    await write(database, ITAY, NewFact("The wifi password hint is blue"))
    await write(database, HOME, NewFact("the  wifi password hint is blue"), NewFact("The wifi router stands upstairs"))
    await write(database, NOA, NewFact("The wifi router is mine"))

    found = await recall.recall(ITAY, "Where does the wifi router stand?", limit=5, extra_scopes=[HOME, ITAY])

    assert [(hit.fact.text, hit.fact.scope) for hit in found.hits] == [
        ("The wifi router stands upstairs", HOME),
        ("The wifi password hint is blue", ITAY),
    ]
    assert await asked(recall, "wifi router") == ["The wifi password hint is blue"]


async def test_the_limit_applies_to_all_scopes_together(recall, database):
    """The number of scopes makes no difference."""
    await write(database, ITAY, *(runs(number, "health") for number in range(6)))
    await write(database, HOME, *(runs(number, "health") for number in range(10, 16)))

    found = await asked(recall, "Which park for runs?", limit=4, beside=[HOME])

    assert len(found) == 4
