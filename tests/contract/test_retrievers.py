"""The contract of the search by words and by vectors, on the real fact store of each database."""

import pytest

from gaia_memory.database.sql_engine import Database
from gaia_memory.drafts.embed_drafts import embed_drafts
from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import DirtyFact, Draft, Fact, NewFact, Scope
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.vector_search import VectorSearch
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.query.expansion import ADDED_QUERY_WEIGHT
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, NOW, database, make_draft
from support.recall_parts import Models, no_limit

__all__ = ["database"]

TEXTS = ["User likes green tea", "User's sister is called Noa", "User lives in Berlin", "User hates celery"]


class Words:
    """The search for words, by ids."""

    def __init__(self, database: Database) -> None:
        self.recall = Recall(database, FactStore(), Models(), FakeClock())

    async def find(self, scope: Scope, query: str, *, limit: int) -> list[str]:
        """Return the ids found, best first."""
        return [fact.id for fact in await self.recall.find_by_words(scope, query, limit=limit)]


class Vectors:
    """The search by vectors, by ids."""

    def __init__(self, database: Database) -> None:
        self.search = VectorSearch(database, FactStore(), ScriptedEmbedder(), no_limit())

    async def find(self, scope: Scope, query: str, *, limit: int) -> list[str]:
        """Return the ids found, best first."""
        scores = (await self.search.find(scope, query, limit=limit)).scores
        return sorted(scores, key=lambda fact_id: -scores[fact_id])


@pytest.fixture(params=[Words, Vectors])
def search(request, database):
    return request.param(database)


async def store(database: Database, scope: Scope, texts: list[str]) -> dict[str, Fact]:
    """Write facts with vectors and return them by text."""
    drafts = await embed_drafts(ScriptedEmbedder(), [Draft(fact=NewFact(text), source="add") for text in texts])
    async with database.transaction() as tx:
        return {fact.text: fact for fact in await FactStore().writer.write(tx, scope, drafts, now=NOW)}


async def test_the_fact_that_answers_the_question_comes_first(search, database):
    """Before all others."""
    facts = await store(database, ITAY, TEXTS)
    found = await search.find(ITAY, "sister called", limit=10)

    assert found[0] == facts["User's sister is called Noa"].id


@pytest.mark.acceptance("Q04")
async def test_another_users_facts_are_never_found(search, database):
    """This holds even for their exact words."""
    await store(database, ITAY, TEXTS)
    own = await store(database, NOA, ["User plays chess"])

    found = await search.find(NOA, TEXTS[1], limit=10)
    assert set(found) <= {fact.id for fact in own.values()}


@pytest.mark.acceptance("Q03")
async def test_an_unknown_scope_finds_nothing(search):
    """It is not an error."""
    assert await search.find(NOA, "sister", limit=10) == []


async def test_results_respect_the_limit_and_contain_no_duplicates(search, database):
    """The caller sets the limit."""
    await store(database, ITAY, [f"User owns book {number}" for number in range(30)])
    found = await search.find(ITAY, "book", limit=7)

    assert len(set(found)) == len(found) == 7


async def test_a_forgotten_fact_is_no_longer_found(search, database):
    """What a search keeps in memory ends with the next write."""
    facts = await store(database, ITAY, TEXTS)
    gone = facts["User's sister is called Noa"].id
    assert gone in await search.find(ITAY, "sister", limit=10)
    async with database.transaction() as tx:
        await FactStore().delete(tx, ITAY, [gone])

    assert gone not in await search.find(ITAY, "sister", limit=10)


async def test_a_new_fact_is_found_at_once(search, database):
    """No index lags behind the database."""
    await store(database, ITAY, TEXTS)
    await search.find(ITAY, "guitar", limit=10)
    new = await store(database, ITAY, ["User plays guitar"])

    found = await search.find(ITAY, "guitar", limit=10)
    assert found[0] == new["User plays guitar"].id


async def test_no_query_raises_an_error(search, database):
    """Characters with a meaning in query languages have none here."""
    await store(database, ITAY, TEXTS)

    for query in ['"', "a AND (b", "* OR *", "what is the", "x" * 5000, "\x00 sister", "שלום", "妹妹"]:
        await search.find(ITAY, query, limit=10)


async def test_vectors_of_another_embedder_are_not_searched(database):
    """Those facts are left to the keyword search, and the embedder is not asked."""
    await store(database, ITAY, TEXTS)
    other = ScriptedEmbedder(model="other")

    assert (await VectorSearch(database, FactStore(), other, no_limit()).find(ITAY, "sister", limit=10)).scores == {}
    assert other.texts == []


class CountingFacts(FactStore):
    """Counts the vectors read."""

    def __init__(self):
        self.read_count = 0

    async def vectors(self, *args, **options):
        ids, rows = await super().vectors(*args, **options)
        self.read_count += len(ids)
        return ids, rows


async def test_a_vector_is_read_once_until_its_fact_changes(database):
    """A repeated query reads none, and a query after a write those of new facts alone."""
    facts = CountingFacts()
    search = VectorSearch(database, facts, ScriptedEmbedder(), no_limit())
    await store(database, ITAY, TEXTS)
    first = await search.find(ITAY, "sister", limit=10)

    assert await search.find(ITAY, "sister", limit=10) == first
    assert facts.read_count == len(TEXTS)
    await store(database, ITAY, ["User plays guitar"])
    await search.find(ITAY, "sister", limit=10)
    assert facts.read_count == len(TEXTS) + 1


async def test_cached_vectors_follow_every_kind_of_change(database):
    """A fact that is new, gone, reworded, or gets its vector later."""
    facts = FactStore()
    search = VectorSearch(database, facts, ScriptedEmbedder(), no_limit())
    known = await store(database, ITAY, TEXTS)
    [reworded] = await embed_drafts(ScriptedEmbedder(), [Draft(fact=NewFact("User drinks coffee"), source="add")])

    async def results_agree():
        fresh = VectorSearch(database, facts, ScriptedEmbedder(), no_limit())
        for query in (*TEXTS, "User drinks coffee", "User plays guitar"):
            found, expected = await search.find(ITAY, query, limit=10), await fresh.find(ITAY, query, limit=10)
            assert found.scores == pytest.approx(expected.scores, abs=1e-4)

    await results_agree()
    async with database.transaction() as tx:
        await facts.delete(tx, ITAY, [known[TEXTS[0]].id])
        await facts.corrections.reword(tx, ITAY, known[TEXTS[1]].id, reworded, actor="host", now=NOW)
    await results_agree()
    async with database.transaction() as tx:
        [plain] = await facts.writer.write(tx, ITAY, [Draft(fact=NewFact("User plays guitar"), source="add")], now=NOW)
    await results_agree()
    [vector] = await ScriptedEmbedder().embed([plain.text], purpose="add")
    async with database.transaction() as tx:
        version = (await facts.history.stored(tx, ITAY, [plain.id]))[plain.id].version
        filled = {DirtyFact(fact_id=plain.id, version=version): vector}
        await Outbox().backfill_vectors(tx, filled, ScriptedEmbedder().identity)
    await results_agree()
    assert plain.id in (await search.find(ITAY, "User plays guitar", limit=10)).scores


async def test_an_embedder_with_unknown_dimensions_is_asked_before_its_vectors_are_searched(database):
    """Its identity is complete only after the first answer."""

    class Late(ScriptedEmbedder):
        @property
        def identity(self):
            return super().identity if self.texts else "scripted/bag-of-words/?"

    facts = await store(database, ITAY, TEXTS)
    found = await VectorSearch(database, FactStore(), Late(), no_limit()).find(ITAY, "sister called", limit=1)

    assert list(found.scores) == [facts["User's sister is called Noa"].id]


async def test_vector_hits_have_a_contrast_score_and_a_cosine_similarity(database):
    """For the only retriever the score is the cosine, as in the mem0 store."""
    await store(database, ITAY, (*TEXTS, *(f"Has seen film number {number}" for number in range(20))))
    search = VectorSearch(database, FactStore(), ScriptedEmbedder(), no_limit())
    beside = await search.find(ITAY, TEXTS[1], limit=50)
    alone = await search.find(ITAY, TEXTS[1], limit=50, is_alone=True)

    assert beside.cosines == alone.cosines == alone.scores
    assert max(alone.scores.values()) == pytest.approx(1)
    assert max(beside.scores.values()) > 0 > min(beside.scores.values())


async def test_a_fact_near_an_added_query_alone_scores_less(database):
    """The question's own finds lead; only the cosine to the question says how well it is answered."""
    facts = await store(database, ITAY, TEXTS)
    search = VectorSearch(database, FactStore(), ScriptedEmbedder(), no_limit())
    added = await search.find(ITAY, "unknown", [TEXTS[3]], limit=1, is_alone=True)
    [only] = [facts[TEXTS[3]].id]

    assert added.scores[only] == pytest.approx(ADDED_QUERY_WEIGHT)
    assert added.cosines.get(only, 0.0) == pytest.approx(0.0)


async def test_only_allowed_facts_are_found(database):
    """As many as are asked for, however many others are nearer."""
    facts = await store(database, ITAY, TEXTS)
    columns = await ColumnCache(database, FactStore(), no_limit()).get(ITAY)
    allowed = columns.select(columns.known_indices([facts[TEXTS[2]].id]))
    found = await VectorSearch(database, FactStore(), ScriptedEmbedder(), no_limit()).find(
        ITAY, TEXTS[0], limit=1, allowed=allowed
    )

    assert set(found.scores) == {facts[TEXTS[2]].id}


async def test_facts_that_wait_for_their_vectors_are_named_as_missing(database):
    """Until then a question in other words may have its answer among them."""
    search = VectorSearch(database, FactStore(), ScriptedEmbedder(), no_limit())
    async with database.transaction() as tx:
        await FactStore().writer.write(tx, ITAY, [make_draft("waits")], now=NOW)
    waiting = await search.find(ITAY, "anything", limit=10)
    await store(database, NOA, TEXTS[:1])

    assert waiting.missing == ("vectors",)
    assert (await search.find(NOA, "anything", limit=10)).missing == ()
