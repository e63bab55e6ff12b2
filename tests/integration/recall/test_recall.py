"""Recall on the real fact store: the right facts, within one scope, with reasons."""

import pytest
from sqlalchemy.exc import OperationalError

from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.drafts.embed_drafts import embed_drafts
from gaia_memory.errors import MemoryUnavailable, ModelUnavailableError
from gaia_memory.facts import FactStore
from gaia_memory.models import Draft, NewFact
from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, memory_database
from support.recall_parts import Models, recall_config

ROWS = [
    "Name is Itay",
    "Lives in Berlin",
    "Works at a bakery",
    "Sister is called Noa",
    "Allergic to nuts",
    "Likes green tea",
    "Plays the guitar",
    "Has a dog named Rex",
]


@pytest.fixture
async def database(tmp_path):
    async with memory_database("sqlite", tmp_path) as opened:
        yield opened


class Memory:
    """A recall over a real database, with an embedder that can fail."""

    def __init__(self, database, embedder=None, **settings):
        self.database, self.facts, self.embedder = database, FactStore(), embedder or ScriptedEmbedder()
        config = MemoryConfig(recall=recall_config(**settings))
        self.recaller = Recall(database, self.facts, Models(self.embedder), FakeClock(), lambda: config)

    async def recall(self, *args, **arguments):
        return list((await self.recaller.recall(*args, **arguments)).hits)

    async def add(self, scope, *texts):
        facts = [text if isinstance(text, NewFact) else NewFact(text) for text in texts]
        drafts = await embed_drafts(self.embedder, [Draft(fact=fact, source="add") for fact in facts])
        async with self.database.transaction() as tx:
            return await self.facts.writer.write(tx, scope, drafts, now=FakeClock().now())


@pytest.fixture
async def memory(database):
    memory = Memory(database, seconds=0.5)
    await memory.add(ITAY, *ROWS)
    return memory


def texts(hits):
    return [hit.fact.text for hit in hits]


@pytest.mark.acceptance("Q01")
async def test_the_relevant_fact_comes_first(memory):
    """Eight facts, one of them about the sister."""
    hits = await memory.recall(ITAY, "sister", limit=5)

    assert hits[0].fact.text == "Sister is called Noa"
    assert len(hits) <= 5


@pytest.mark.acceptance("Q03", "Q04")
async def test_no_user_recalls_another_users_facts(memory):
    """Not even with their exact words."""
    assert await memory.recall(NOA, "Sister is called Noa", limit=5) == []


async def test_another_users_fact_id_from_a_retriever_is_dropped(database, monkeypatch):
    """What the search by vectors says is not enough: each id is looked up again within the scope."""
    memory = Memory(database)
    foreign = await memory.add(NOA, "Noa's secret")
    await memory.add(ITAY, *ROWS)

    async def leak(*args, **arguments):
        return VectorMatches(scores={**{fact.id: 1.0 for fact in foreign}, "x": 2.0})

    monkeypatch.setattr(memory.recaller._vectors, "find", leak)

    assert texts(await memory.recall(ITAY, "guitar", limit=1)) == ["Plays the guitar"]
    assert "Noa's secret" not in texts(await memory.recall(ITAY, "Noa's secret", limit=50))


@pytest.mark.acceptance("Q05")
@pytest.mark.parametrize("query", ["", "  \n\t"])
async def test_a_blank_query_finds_nothing(memory, query):
    """No retriever is called."""
    memory.embedder.texts.clear()

    assert await memory.recall(ITAY, query, limit=5) == []
    assert memory.embedder.texts == []


@pytest.mark.acceptance("Q07")
async def test_with_a_threshold_an_unrelated_query_finds_nothing(memory):
    """A related one finds its fact."""
    assert await memory.recall(ITAY, "quantum chromodynamics lecture", limit=5, threshold=0.5) == []
    assert texts(await memory.recall(ITAY, "Is the user allergic to nuts?", limit=5, threshold=0.5)) == [
        "Allergic to nuts"
    ]


@pytest.mark.acceptance("R04")
@pytest.mark.parametrize("failure", [ModelUnavailableError("429"), "silence"])
async def test_a_failing_embedder_loses_only_its_part_of_the_score_and_is_named(memory, failure, caplog):
    """The words still find the fact; the log contains no text."""
    if failure == "silence":
        memory.embedder.gate.shut()
    else:
        memory.embedder.error = failure
    hits = await memory.recall(ITAY, "sister", limit=5)

    assert texts(hits) == ["Sister is called Noa"]
    assert hits[0].missing == ("vectors",)
    assert "vectors" in caplog.text
    assert "sister" not in caplog.text.casefold()


@pytest.mark.acceptance("Q06")
async def test_when_only_vectors_could_answer_and_cannot_memory_is_unavailable(database):
    """The error has the reason and a remedy."""
    memory = Memory(database, keywords=0.0)
    await memory.add(ITAY, *ROWS)
    memory.embedder.error = ModelUnavailableError("429")

    with pytest.raises(MemoryUnavailable) as caught:
        await memory.recall(ITAY, "sister", limit=5)

    assert "the embedder gave no answer" in caught.value.reason
    assert "memory.embedder" in caught.value.remedy


@pytest.mark.acceptance("Q06")
@pytest.mark.parametrize("step", ["indexed_facts", "get"])
async def test_a_database_that_fails_makes_memory_unavailable(database, step, monkeypatch):
    """Before the ranking, and when the found facts are read."""

    async def fail(*args, **arguments):
        raise OperationalError("SELECT", {}, Exception("disk"))

    memory = Memory(database)
    await memory.add(ITAY, *ROWS)
    monkeypatch.setattr(memory.facts, step, fail)

    with pytest.raises(MemoryUnavailable, match="does not answer"):
        await memory.recall(ITAY, "sister", limit=5)


async def test_the_next_turn_of_a_conversation_is_found_with_the_matching_one(memory):
    """Neighbours in a conversation raise each other's scores."""
    await memory.add(
        ITAY,
        NewFact("Asked which film to watch on Friday", session_id="s", seq=4),
        NewFact("Chose Solaris on Friday", session_id="s", seq=5),
        NewFact("Buys bread on Friday", session_id="t", seq=1),
    )
    hits = await memory.recall(ITAY, "which film on friday", limit=2)

    assert texts(hits) == ["Asked which film to watch on Friday", "Chose Solaris on Friday"]
    assert hits[1].why["surroundings"] > 0
