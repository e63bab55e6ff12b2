"""Recall on the real fact store: what is asked is found, in one scope, with reasons."""

import asyncio

import pytest
from sqlalchemy.exc import OperationalError

from gaia_memory.errors import MemoryUnavailable, ModelUnavailableError
from gaia_memory.facts import SqlFacts
from gaia_memory.learn.embed_drafts import embed_drafts
from gaia_memory.models import Candidate, Draft, NewFact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import KeywordRetriever, VectorRetriever
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.testing import FakeClock, ScriptedEmbedder
from support.databases import ITAY, NOA, memory_database

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
    """A recall over a real database, with an embedder to break."""

    def __init__(self, database, *more, **settings):
        self.database, self.facts, self.embedder = database, SqlFacts(), ScriptedEmbedder()
        retrievers = [
            KeywordRetriever(database, self.facts),
            VectorRetriever(database, self.facts, self.embedder),
            *more,
        ]
        self.recall = Recall(database, self.facts, retrievers, FakeClock(), settings=RecallSettings(**settings)).recall

    async def add(self, scope, *texts):
        facts = [text if isinstance(text, NewFact) else NewFact(text) for text in texts]
        drafts = await embed_drafts(self.embedder, [Draft(fact=fact, source="add") for fact in facts])
        async with self.database.transaction() as tx:
            return await self.facts.write(tx, scope, drafts, now=FakeClock().now())


@pytest.fixture
async def memory(database):
    memory = Memory(database, seconds=0.5)
    await memory.add(ITAY, *ROWS)
    return memory


def texts(hits):
    return [hit.fact.text for hit in hits]


class Broken:
    name = "broken"

    def __init__(self, failure):
        self.failure = failure

    async def retrieve(self, scope, query, *, limit):
        if self.failure is None:
            await asyncio.Event().wait()
        raise self.failure


@pytest.mark.acceptance("Q01")
async def test_the_row_asked_for_comes_first(memory):
    """Eight facts, one of them about the sister."""
    hits = await memory.recall(ITAY, "sister", limit=5)

    assert hits[0].fact.text == "Sister is called Noa"
    assert len(hits) <= 5


async def test_the_score_lies_between_0_and_1_and_its_reasons_add_up(memory):
    """`why` says what each stage contributed."""
    hits = await memory.recall(ITAY, "what tea does she like, green?", limit=8)

    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert 0 <= hit.score <= 1
        assert sum(hit.why.values()) == pytest.approx(hit.score)
        assert set(hit.why) <= {
            *("keywords", "vectors", "surroundings", "conversation", "phrases", "speaker", "subject", "names"),
            *("dates", "kinds", "asking", "recency", "diversity"),
        }


@pytest.mark.acceptance("Q03", "Q04")
async def test_nobody_recalls_what_somebody_else_said(memory):
    """Not with the very words of it."""
    assert await memory.recall(NOA, "Sister is called Noa", limit=5) == []


async def test_an_id_of_somebody_else_is_dropped_whoever_names_it(database):
    """A retriever's word is not enough: each id is looked up again within the scope."""

    class Leaking:
        name = "leaking"

        async def retrieve(self, scope, query, *, limit):
            return [Candidate(fact_id=fact.id, score=1.0) for fact in foreign] + [Candidate(fact_id="x", score=2.0)]

    memory = Memory(database, Leaking())
    foreign = await memory.add(NOA, "Noa's secret")
    await memory.add(ITAY, *ROWS)

    assert texts(await memory.recall(ITAY, "guitar", limit=1)) == ["Plays the guitar"]
    assert "Noa's secret" not in texts(await memory.recall(ITAY, "Noa's secret", limit=50))


@pytest.mark.acceptance("Q05")
@pytest.mark.parametrize("query", ["", "  \n\t"])
async def test_a_blank_question_finds_nothing(memory, query):
    """And asks nobody."""
    memory.embedder.texts.clear()

    assert await memory.recall(ITAY, query, limit=5) == []
    assert memory.embedder.texts == []


@pytest.mark.acceptance("Q07")
async def test_with_a_threshold_an_unrelated_question_finds_nothing(memory):
    """And a related one what it asks for."""
    assert await memory.recall(ITAY, "quantum chromodynamics lecture", limit=5, threshold=0.5) == []
    assert texts(await memory.recall(ITAY, "Is the user allergic to nuts?", limit=5, threshold=0.5)) == [
        "Allergic to nuts"
    ]


async def test_a_word_in_common_does_not_pass_the_threshold(memory):
    """One word of many is a weak answer, also when it is the best there is."""
    query = "dog breeding regulations of medieval monasteries"

    assert texts(await memory.recall(ITAY, query, limit=1)) == ["Has a dog named Rex"]
    assert await memory.recall(ITAY, query, limit=5, threshold=0.5) == []


@pytest.mark.acceptance("R04")
@pytest.mark.parametrize("failure", [ModelUnavailableError("429"), "silence"])
async def test_an_embedder_that_is_down_costs_its_share_and_is_named(memory, failure, caplog):
    """The words still find the fact; the log holds no text."""
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
async def test_when_nobody_can_answer_memory_is_unavailable(database):
    """With the reason and what to do."""
    broken = [Broken(MemoryUnavailable("the disk is full", remedy="make room")), Broken(RuntimeError("x"))]
    broken[1].name = "vectors"
    recall = Recall(database, SqlFacts(), broken, FakeClock()).recall

    with pytest.raises(MemoryUnavailable) as caught:
        await recall(ITAY, "sister", limit=5)

    assert "broken: the disk is full, vectors: RuntimeError" in caught.value.reason
    assert caught.value.remedy == "make room"


@pytest.mark.acceptance("Q06")
async def test_a_database_that_fails_after_the_search_makes_memory_unavailable(database):
    """Found ids that cannot be read are no answer."""

    class Failing(SqlFacts):
        async def neighbours_of(self, *args):
            raise OperationalError("SELECT", {}, Exception("disk"))

    memory = Memory(database)
    await memory.add(ITAY, *ROWS)
    recall = Recall(database, Failing(), [KeywordRetriever(database, SqlFacts())], FakeClock()).recall

    with pytest.raises(MemoryUnavailable, match="does not answer"):
        await recall(ITAY, "sister", limit=5)


async def test_retrievers_are_asked_at_once(memory):
    """A slow embedder and the keywords do not wait for each other."""
    memory.embedder.gate.shut()
    asking = asyncio.create_task(memory.recall(ITAY, "sister", limit=5))
    await memory.embedder.gate.wait_for_waiter()
    memory.embedder.gate.open()

    assert (await asking)[0].missing == ()


async def test_the_turn_after_the_words_of_the_question_is_found_with_it(memory):
    """Neighbours of one conversation lend each other weight."""
    await memory.add(
        ITAY,
        NewFact("Asked which film to watch on Friday", session_id="s", seq=4),
        NewFact("Chose Solaris on Friday", session_id="s", seq=5),
        NewFact("Buys bread on Friday", session_id="t", seq=1),
    )
    hits = await memory.recall(ITAY, "which film on friday", limit=2)

    assert texts(hits) == ["Asked which film to watch on Friday", "Chose Solaris on Friday"]
    assert hits[1].why["surroundings"] > 0


async def test_what_only_fills_up_is_asked_where_words_find_too_little(database):
    """Behind as many candidates as are wanted nothing could come of it; before that it is asked."""
    asked = []

    class Filler:
        name = "hashed"

        async def retrieve(self, scope, query, *, limit):
            asked.append(query)
            return []

    memory = Memory(database)
    await memory.add(ITAY, *ROWS, "Likes black tea")
    both = [KeywordRetriever(database, memory.facts), Filler()]
    recall = Recall(database, memory.facts, both, FakeClock(), settings=RecallSettings(candidates=2)).recall
    await recall(ITAY, "who likes tea", limit=1)
    assert asked == []

    await recall(ITAY, "celery", limit=1)
    assert asked == ["celery"]
