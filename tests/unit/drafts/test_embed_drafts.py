"""Facts get vectors, but never wait for them."""

import asyncio
from dataclasses import replace

import pytest

from gaia_memory.drafts.embed_drafts import EMBED_BATCH_SIZE, embed_drafts
from gaia_memory.errors import ModelUnavailableError
from gaia_memory.models import Draft, NewFact
from gaia_memory.testing import ScriptedEmbedder

pytestmark = pytest.mark.heavy


class FailsFrom:
    """An embedder that fails from its n-th call on, in a given way."""

    identity = "test/failing/2"

    def __init__(self, call, failure):
        self.call, self.failure, self.calls = call, failure, 0

    async def embed(self, texts, *, purpose):
        self.calls += 1
        if self.calls >= self.call:
            return await self.failure(texts)
        return [(1.0, 0.0)] * len(texts)


async def unreachable(texts):
    raise ModelUnavailableError("429")


async def silent(texts):
    await asyncio.Event().wait()


async def short(texts):
    return []


def drafts(count):
    return [Draft(fact=NewFact(f"fact {number}"), source="add") for number in range(count)]


async def test_each_draft_gets_a_vector_and_the_identity_of_its_embedder():
    """The order is kept, and each vector names its embedder."""
    embedder = ScriptedEmbedder()
    done = await embed_drafts(embedder, drafts(3))

    assert [draft.fact for draft in done] == [draft.fact for draft in drafts(3)]
    wanted = await embedder.embed([f"fact {n}" for n in range(3)], purpose="add")
    assert [list(draft.vector) for draft in done] == [pytest.approx(list(vector)) for vector in wanted]
    assert {draft.embedder for draft in done} == {embedder.identity}


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(unreachable, "ModelUnavailableError"), (silent, "no answer within 0.02 s"), (short, "BadAnswerError")],
)
@pytest.mark.acceptance("R04")
async def test_facts_are_kept_when_the_embedder_is_down(failure, reason, caplog):
    """After errors, time-outs and short answers facts have no vector, and the log has no text."""
    done = await embed_drafts(FailsFrom(1, failure), drafts(2), timeout_seconds=0.02)

    assert done == drafts(2)
    assert f"facts are kept without a vector for now (2): {reason}" in caplog.text
    assert "fact 0" not in caplog.text


async def test_the_first_failing_batch_stops_embedding():
    """Earlier vectors stay; the remaining batches are not tried."""
    embedder = FailsFrom(2, unreachable)
    done = await embed_drafts(embedder, drafts(EMBED_BATCH_SIZE * 3))

    assert embedder.calls == 2
    assert [draft.vector is not None for draft in done] == [True] * EMBED_BATCH_SIZE + [False] * EMBED_BATCH_SIZE * 2


async def test_existing_vectors_are_kept():
    """A draft with a vector is not embedded again."""
    embedder = ScriptedEmbedder()
    ready = replace(drafts(1)[0], vector=(0.5,), embedder="other")

    assert (await embed_drafts(embedder, [ready, *drafts(2)]))[0] == ready
    assert embedder.texts == ["fact 0", "fact 1"]


async def test_progress_is_reported_after_each_batch():
    """With the number of all drafts."""
    seen, total = [], 2 * EMBED_BATCH_SIZE + 1
    await embed_drafts(ScriptedEmbedder(), drafts(total), progress=lambda done, of: seen.append((done, of)))

    assert seen == [(EMBED_BATCH_SIZE, total), (2 * EMBED_BATCH_SIZE, total), (total, total)]
