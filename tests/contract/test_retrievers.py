"""The contract of every retriever, on the real fact store of each database."""

from collections.abc import Callable

import pytest

from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.facts import SqlFacts
from gaia_memory.learn.embed_drafts import embed_drafts
from gaia_memory.models import Draft, Fact, NewFact, Scope
from gaia_memory.ports import Retriever
from gaia_memory.recall.retrievers import KeywordRetriever, VectorRetriever
from gaia_memory.testing import ScriptedEmbedder
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

Make = Callable[[SqlDatabase], Retriever]
MAKERS: dict[str, Make] = {
    "keywords": lambda database: KeywordRetriever(database, SqlFacts()),
    "vectors": lambda database: VectorRetriever(database, SqlFacts(), ScriptedEmbedder()),
}
TEXTS = ["User likes green tea", "User's sister is called Noa", "User lives in Berlin", "User hates celery"]


@pytest.fixture(params=list(MAKERS))
def retriever(request, database):
    return MAKERS[request.param](database)


async def store(database: SqlDatabase, scope: Scope, texts: list[str]) -> dict[str, Fact]:
    """Write facts with vectors and return them by text."""
    drafts = await embed_drafts(ScriptedEmbedder(), [Draft(fact=NewFact(text), source="add") for text in texts])
    async with database.transaction() as tx:
        return {fact.text: fact for fact in await SqlFacts().write(tx, scope, drafts, now=NOW)}


async def test_the_fact_that_answers_comes_first(retriever, database):
    """Scores fall from the best on."""
    facts = await store(database, ITAY, TEXTS)
    found = await retriever.retrieve(ITAY, "sister called", limit=10)

    assert found[0].fact_id == facts["User's sister is called Noa"].id
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.acceptance("Q04")
async def test_nobody_finds_the_facts_of_somebody_else(retriever, database):
    """Not even with the very words."""
    await store(database, ITAY, TEXTS)
    own = await store(database, NOA, ["User plays chess"])

    found = await retriever.retrieve(NOA, TEXTS[1], limit=10)
    assert {each.fact_id for each in found} <= {fact.id for fact in own.values()}


@pytest.mark.acceptance("Q03")
async def test_an_unknown_scope_finds_nothing(retriever):
    """No facts, no hits, no error."""
    assert await retriever.retrieve(NOA, "sister", limit=10) == []


async def test_no_more_than_the_limit_and_nothing_twice(retriever, database):
    """The bound is the caller's."""
    await store(database, ITAY, [f"User owns book {number}" for number in range(30)])
    found = await retriever.retrieve(ITAY, "book", limit=7)

    assert len({each.fact_id for each in found}) == len(found) == 7


async def test_what_was_forgotten_is_found_no_more(retriever, database):
    """What a retriever keeps in memory ends with the next write."""
    facts = await store(database, ITAY, TEXTS)
    gone = facts["User's sister is called Noa"].id
    assert gone in {each.fact_id for each in await retriever.retrieve(ITAY, "sister", limit=10)}
    async with database.transaction() as tx:
        await SqlFacts().delete(tx, ITAY, [gone])

    assert gone not in {each.fact_id for each in await retriever.retrieve(ITAY, "sister", limit=10)}


async def test_what_was_just_written_is_found(retriever, database):
    """No index lags behind the database."""
    await store(database, ITAY, TEXTS)
    await retriever.retrieve(ITAY, "guitar", limit=10)
    new = await store(database, ITAY, ["User plays guitar"])

    found = await retriever.retrieve(ITAY, "guitar", limit=10)
    assert found[0].fact_id == new["User plays guitar"].id


async def test_no_question_is_an_error(retriever, database):
    """Signs with a meaning to a query language have none here."""
    await store(database, ITAY, TEXTS)

    for query in ['"', "a AND (b", "* OR *", "what is the", "x" * 5000, "\x00 sister", "שלום", "妹妹"]:
        await retriever.retrieve(ITAY, query, limit=10)


async def test_vectors_of_another_embedder_never_mix(database):
    """They are left to the keywords, and the embedder is not even asked."""
    await store(database, ITAY, TEXTS)
    other = ScriptedEmbedder(model="other")

    assert await VectorRetriever(database, SqlFacts(), other).retrieve(ITAY, "sister", limit=10) == []
    assert other.texts == []


async def test_vectors_are_read_once_as_long_as_nothing_changes(database):
    """A question asked again costs no reading of vectors; a write makes them be read anew."""

    class Counting(SqlFacts):
        reads = 0

        async def vectors(self, *args):
            self.reads += 1
            return await super().vectors(*args)

    facts = Counting()
    retriever = VectorRetriever(database, facts, ScriptedEmbedder())
    await store(database, ITAY, TEXTS)
    first = await retriever.retrieve(ITAY, "sister", limit=10)

    assert await retriever.retrieve(ITAY, "sister", limit=10) == first
    assert facts.reads == 1

    await store(database, ITAY, ["User plays guitar"])
    await retriever.retrieve(ITAY, "sister", limit=10)
    assert facts.reads == 2


async def test_large_matrices_leave_the_event_loop_and_answer_the_same(database, monkeypatch):
    """The size changes where it is computed, not what comes out."""
    await store(database, ITAY, TEXTS)
    small = await MAKERS["vectors"](database).retrieve(ITAY, "green tea", limit=2)
    monkeypatch.setattr("gaia_memory.recall.retrievers.MAX_EVENT_LOOP_ELEMENTS", 1)

    assert await MAKERS["vectors"](database).retrieve(ITAY, "green tea", limit=2) == small


class Hashed(ScriptedEmbedder):
    """Maps every text to the same direction."""

    identity = "offline/test/2"

    async def embed(self, texts, *, purpose):
        return [(1.0, 0.0)] * len(texts)


async def test_hashed_vectors_that_share_only_chance_are_no_hits(database):
    """A small cosine of hashed words means nothing, and of signs alone nothing is hashed."""
    async with database.transaction() as tx:
        near, _ = await SqlFacts().write(
            tx, ITAY, [make_draft("near", vector=(0.9, 0.44)), make_draft("far", vector=(0.1, 0.99))], now=NOW
        )
    retriever = VectorRetriever(database, SqlFacts(), Hashed())
    found = await retriever.retrieve(ITAY, "anything", limit=10)

    assert retriever.name == "hashed"
    assert [each.fact_id for each in found] == [near.id]
    assert await retriever.retrieve(ITAY, '" ?', limit=10) == []


async def test_an_embedder_that_learns_its_dimensions_late_is_asked_before_its_vectors_are_sought(database):
    """Its identity is complete only after its first answer."""

    class Late(ScriptedEmbedder):
        @property
        def identity(self):
            return super().identity if self.texts else "scripted/bag-of-words/?"

    facts = await store(database, ITAY, TEXTS)
    found = await VectorRetriever(database, SqlFacts(), Late()).retrieve(ITAY, "sister called", limit=1)

    assert [each.fact_id for each in found] == [facts["User's sister is called Noa"].id]


async def test_vectors_tell_facts_apart_by_contrast_and_say_how_alike_they_are_by_the_cosine(database):
    """Where nothing else finds facts the score is the cosine, as the mem0 store gives it."""
    await store(database, ITAY, TEXTS)
    beside = await VectorRetriever(database, SqlFacts(), ScriptedEmbedder()).retrieve(ITAY, TEXTS[1], limit=10)
    alone = VectorRetriever(database, SqlFacts(), ScriptedEmbedder(), is_sole_retriever=lambda: True)
    cosines = {each.fact_id: each.score for each in await alone.retrieve(ITAY, TEXTS[1], limit=10)}

    assert {each.fact_id: each.similarity for each in beside} == cosines
    assert max(cosines.values()) == pytest.approx(1)
    assert beside[0].score > 0 > beside[-1].score
