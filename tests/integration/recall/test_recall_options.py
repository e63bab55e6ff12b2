"""Options of recall on the real fact store: depth, query expansion and reranking."""

import asyncio

import pytest

from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.drafts.embed_drafts import embed_drafts
from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.facts import FactStore
from gaia_memory.models import Draft, NewFact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock, ScriptedEmbedder, ScriptedLanguageModel
from support.databases import ITAY, NOA, memory_database
from support.recall_parts import Models, recall_config

SPORTS = "Which sports do I like?"
ROWS = ["Goes surfing on Sundays", "Likes sports on television", "Has a dog named Rex", "Plays the guitar"]


class Opinion:
    """A reranker that prefers texts containing `prefers`; `error` and `silent` make it fail."""

    def __init__(self, prefers="", error=None, silent=False):
        self.prefers, self.error, self.silent = prefers, error, silent
        self.asked = []

    async def score(self, query, texts):
        self.asked.append((query, list(texts)))
        if self.silent:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return [float(self.prefers in text) for text in texts]


class House:
    """A recall over a real database, with changeable settings."""

    def __init__(self, database, model=None, reranker=None, embedder=None):
        self.database, self.facts, self.embedder = database, FactStore(), embedder or ScriptedEmbedder()
        self.settings = recall_config(seconds=5.0)
        self.model, self.models = model, Models(self.embedder, model)
        self.models.reranker = reranker
        self.recall = Recall(database, self.facts, self.models, FakeClock(), lambda: MemoryConfig(recall=self.settings))

    def told(self, **settings):
        self.settings = recall_config(**{"seconds": 5.0, **settings})

    async def add(self, scope, *texts):
        drafts = await embed_drafts(self.embedder, [Draft(fact=NewFact(text), source="add") for text in texts])
        async with self.database.transaction() as tx:
            await self.facts.writer.write(tx, scope, drafts, now=FakeClock().now())

    async def texts(self, query, limit=5):
        return [hit.fact.text for hit in await self.hits(query, limit=limit)]

    async def hits(self, query, limit=5, **arguments):
        return (await self.recall.recall(ITAY, query, limit=limit, **arguments)).hits


@pytest.fixture
async def database(tmp_path):
    async with memory_database("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
async def house(database):
    made = House(database, ScriptedLanguageModel("surfing, tennis, football\nSport treiben"))
    await made.add(ITAY, *ROWS)
    return made


async def test_query_expansion_finds_other_facts_and_exact_matches_stay_first(house):
    """One model call; facts with a word of the query itself come first."""
    house.told(rewrite=True, vectors=0.0)
    recalled = await house.recall.recall(ITAY, SPORTS, limit=5)

    assert [hit.fact.text for hit in recalled.hits] == ["Likes sports on television", "Goes surfing on Sundays"]
    assert (recalled.expansions, recalled.missing) == (("surfing, tennis, football", "Sport treiben"), ())
    assert recalled.hits[1].why.keys() >= {"keywords"}
    assert len(house.model.prompts) == 1
    house.told(vectors=0.0)
    assert await house.texts(SPORTS) == ["Likes sports on television"]


async def test_a_fact_found_only_by_added_words_scores_at_most_half(database):
    """A query without any known word is answered by added words; such hits pass no strict threshold."""
    house = House(database, ScriptedLanguageModel(default="surfing on Sundays"))
    await house.add(ITAY, *ROWS)
    house.told(rewrite=True, vectors=0.0)
    [hit] = await house.hits("Hobbys?")

    assert (hit.fact.text, hit.score) == ("Goes surfing on Sundays", 0.5)
    assert await house.hits("Hobbys?", threshold=0.6) == ()


@pytest.mark.parametrize("failure", [ModelUnavailableError("429"), BadAnswerError("blank"), "silence", "- "])
async def test_an_unavailable_model_loses_only_the_added_words(database, failure, caplog):
    """The hits name it, and so does the log, once and without the query."""
    model = ScriptedLanguageModel(failure)
    house = House(database, model)
    await house.add(ITAY, *ROWS)
    if failure == "silence":
        model.gate.shut()
    house.told(rewrite=True, seconds=2.0)
    hits = await house.hits(SPORTS, limit=1)

    assert [(hit.fact.text, hit.missing) for hit in hits] == [("Likes sports on television", ("rewriting",))]
    [line] = [record.getMessage() for record in caplog.records if "recall" in record.getMessage()]
    assert "rewriting" in line
    assert "sports" not in caplog.text


async def test_query_expansion_finds_nothing_of_another_user(house):
    """It stays within the scope."""
    house.told(rewrite=True)

    assert (await house.recall.recall(NOA, SPORTS, limit=5)).hits == ()


async def test_a_reranker_orders_the_first_facts_by_their_texts_alone(house):
    """It is sent only the query and the texts of the best facts, up to its limit."""
    house.models.reranker = Opinion("guitar")
    question = "dog guitar surfing sports"
    assert (await house.texts(question))[0] == "Plays the guitar"
    [(asked, shown)] = house.models.reranker.asked
    assert (asked, sorted(shown)) == (question, sorted(ROWS))

    house.told(rerank_first=2)
    house.models.reranker = None
    before = await house.texts(question)
    house.models.reranker = Opinion(before[1])
    assert await house.texts(question) == [before[1], before[0], *before[2:]]
    house.told(rerank_share=0.0)
    assert await house.texts(question) == before
    assert len(house.models.reranker.asked) == 1


async def test_a_reranker_is_shown_no_credential(house):
    """An older release may have stored one."""
    await house.add(ITAY, "The dog door's code is 4921")
    house.models.reranker = Opinion()
    await house.texts("dog door")

    [(_, shown)] = house.models.reranker.asked
    assert "The dog door's code is [redacted: a code]" in shown


@pytest.mark.parametrize(
    "failure", [{"error": ModelUnavailableError("503")}, {"error": BadAnswerError("x")}, {"silent": 1}]
)
async def test_a_failing_or_late_reranker_leaves_the_order_unchanged(house, failure, caplog):
    """The hits name it and the log does once, without a fact in it."""
    question = "dog guitar surfing sports"
    before = await house.texts(question)
    house.models.reranker = Opinion(**failure)
    house.told(seconds=0.5 if "silent" in failure else 5.0)
    hits = await house.hits(question)

    assert [hit.fact.text for hit in hits] == before
    assert {hit.missing for hit in hits} == {("reranker",)}
    [line] = [record.getMessage() for record in caplog.records if "recall" in record.getMessage()]
    assert line.startswith("recall goes on without reranker: ")
    assert "Rex" not in caplog.text


async def test_without_a_limit_the_query_determines_the_number_of_facts(house):
    """One clear answer stands alone, ten of a kind are all shown; an explicit limit wins."""
    await house.add(ITAY, "Sister is called Noa", *(f"Has seen film number {number}" for number in range(20)))

    assert (await house.recall.recall(ITAY, "Who is my sister Noa called by name?", limit=None)).limit == 1
    many = await house.recall.recall(ITAY, "Which films have I seen?", limit=None)
    assert (many.limit, len(many.hits)) == (10, 10)
    assert len(await house.texts("Which films have I seen?", limit=2)) == 2
