"""A cached vector avoids a second request; the cache contains no text."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from gaia_memory.backend.embedder import Mem0Embedder, VectorCache
from gaia_memory.backend.providers.resolve_provider import Provider
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import ModelUnavailableError


class Counting:
    """An embedder in mem0's form that records its requests and can be down."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.down = False

    def embed(self, text: str, purpose: str) -> list[float]:
        return self.embed_batch([text], purpose)[0]

    def embed_batch(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
        if self.down or "down" in texts:
            raise ConnectionError
        self.asked += [(purpose, text) for text in texts]
        return [[float(len(text)), 1.0 if purpose == "add" else 2.0] for text in texts]


@pytest.fixture
def model() -> Counting:
    """Return the recording model."""
    return Counting()


@pytest.fixture
def embedder(model: Counting) -> Mem0Embedder:
    """Return an embedder over the model."""
    return Mem0Embedder(lambda: model, Provider("scripted", {"model": "m"}), WorkerPool("test", 2))


async def test_a_repeated_text_is_requested_once(embedder: Mem0Embedder, model: Counting) -> None:
    """This holds within a batch and later; vectors keep the order of the texts."""
    first = await embedder.embed(["a", "bbb", "a", "cc", "bbb"], purpose="add")
    again = await embedder.embed(["cc", "a"], purpose="add")

    assert model.asked == [("add", "a"), ("add", "bbb"), ("add", "cc")]
    assert [first[0], first[1], first[3]] == [first[2], first[4], again[0]]
    assert again == [first[3], first[0]]
    assert len(set(map(tuple, first))) == 3


async def test_a_question_and_an_equal_text_are_cached_separately(embedder: Mem0Embedder, model: Counting) -> None:
    """Many models embed them differently."""
    [text] = await embedder.embed(["a"], purpose="add")
    [question] = await embedder.embed(["a"], purpose="search")

    assert model.asked == [("add", "a"), ("search", "a")]
    assert text != question


async def test_after_a_failure_only_missing_vectors_are_requested(embedder: Mem0Embedder, model: Counting) -> None:
    """Requests are made in batches of a hundred."""
    texts = [f"text {number}" for number in range(150)]
    with pytest.raises(ModelUnavailableError):
        await embedder.embed([*texts, "down"], purpose="add")
    assert len(model.asked) == 100

    await embedder.embed(texts, purpose="add")

    assert [text for _, text in model.asked] == texts


def test_the_cache_is_limited_and_evicts_the_least_recently_used() -> None:
    """Each purpose has its own limit, so a bulk of texts evicts no question."""
    cache = VectorCache(max_numbers=20)
    cache.put_many([("question", (1.0, 2.0))], "search")
    cache.put_many([(str(number), (float(number), 0.0)) for number in range(10)], "add")
    cache.get_many(["0"], "add")
    cache.put_many([("new", (0.0, 0.0))], "add")

    assert set(cache.get_many([*map(str, range(10)), "new"], "add")) == {"0", *map(str, range(2, 10)), "new"}
    assert tuple(cache.get_many(["question"], "search")["question"]) == (1.0, 2.0)


def test_the_cache_contains_no_text() -> None:
    """Forgotten text must not remain in it; two caches use different keys."""
    cache, other = VectorCache(), VectorCache()
    cache.put_many([("Allergic to saffron", (1.0, 0.0))], "add")
    other.put_many([("Allergic to saffron", (1.0, 0.0))], "add")
    reached, seen = [cache._entries], set()
    while reached:
        thing = reached.pop()
        if id(thing) not in seen:
            seen.add(id(thing))
            assert "saffron" not in repr(thing)
            reached += [each for each in gc.get_referents(thing) if not isinstance(each, type)]

    assert not set(cache._entries["add"]) & set(other._entries["add"])
