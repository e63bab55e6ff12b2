"""Every embedder fulfils the port: the offline one, a host's own and Gemini's."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.embedder import Mem0Embedder
from gaia_memory.errors import BadAnswerError, ModelError, ModelUnavailableError
from support.servers.call_limits import remove_retry_pauses
from support.servers.fake_gemini import Failure, FakeGemini
from support.storage.scripted_backend import (
    DIMENSIONS,
    ProviderScript,
    backend_config,
    register_scripted_providers,
    scripted_backend,
)

TEXTS = ["User lives in Haifa", "User likes green tea", "אני גר בחיפה", "我住在北京", ""]


@pytest.fixture(params=["offline", "scripted", "gemini"])
async def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Backend]:
    """Return a backend for each embedder."""
    if request.param == "scripted":
        register_scripted_providers(monkeypatch, "case")
        made = scripted_backend(tmp_path, "case")
    else:
        if request.param == "gemini":
            request.getfixturevalue("gemini")
        made = Backend(backend_config(tmp_path))
    yield made
    await made.close()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ProviderScript:
    """Return the script of an embedder that is registered in mem0's factories."""
    return register_scripted_providers(monkeypatch, "host")


@pytest.fixture
async def host(script: ProviderScript, tmp_path: Path) -> AsyncIterator[Mem0Embedder]:
    """Return the embedder under test."""
    made = scripted_backend(tmp_path, "host")
    yield made.embedder
    await made.close()


def cosine(one: Any, other: Any) -> float:
    """Return the cosine of two unit vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_each_text_gets_one_unit_vector_with_the_dimensions_of_the_identity(backend: Backend) -> None:
    """Order is kept, nothing is merged, and the identity contains the dimensions."""
    vectors = await backend.embedder.embed(TEXTS, purpose="add")
    alone = [(await backend.embedder.embed([text], purpose="add"))[0] for text in TEXTS]

    assert len(vectors) == len(TEXTS)
    for one, other in zip(vectors, alone, strict=True):
        assert cosine(one, other) == pytest.approx(1.0)
    assert {len(vector) for vector in vectors} == {int(backend.embedder.identity.rpartition("/")[2])}
    assert all(math.isclose(math.fsum(v * v for v in vector), 1.0, rel_tol=1e-6) for vector in vectors)


async def test_a_text_is_closer_to_one_that_shares_its_words(backend: Backend) -> None:
    """Recall needs at least this."""
    question, near, far = await backend.embedder.embed(
        ["which tea is green", "User likes green tea", "User works in Berlin"], purpose="search"
    )

    assert cosine(question, near) > cosine(question, far)


async def test_no_texts_give_no_vectors(backend: Backend) -> None:
    """The provider is not asked."""
    assert await backend.embedder.embed([], purpose="add") == []


async def test_the_identity_is_known_before_the_first_vector(backend: Backend) -> None:
    """Use does not change it."""
    before = backend.embedder.identity
    await backend.embedder.embed(["x"], purpose="add")

    assert backend.embedder.identity == before
    assert before.count("/") >= 2


async def test_the_purpose_reaches_the_provider(host: Mem0Embedder, script: ProviderScript) -> None:
    """Some providers embed questions and texts differently."""
    await host.embed(["a"], purpose="add")
    await host.embed(["b"], purpose="search")

    assert (script.texts, script.purposes) == (["a", "b"], ["add", "search"])


BAD_VECTORS = {
    "too short": [1.0] * (DIMENSIONS - 1),
    "too long": [1.0] * (DIMENSIONS + 1),
    "empty": [],
    "not a number": [float("nan")] * DIMENSIONS,
    "without any length": [0.0] * DIMENSIONS,
    "nothing": None,
    "text": ["a"] * DIMENSIONS,
}


@pytest.mark.parametrize("vector", BAD_VECTORS.values(), ids=BAD_VECTORS)
async def test_unusable_vectors_are_errors(host: Mem0Embedder, script: ProviderScript, vector: Any) -> None:
    """Vectors that the store would refuse or could not search are rejected."""
    script.vector = lambda _: vector
    with pytest.raises(BadAnswerError):
        await host.embed(["x"], purpose="add")


async def test_vectors_of_very_large_numbers_are_normalised(host: Mem0Embedder, script: ProviderScript) -> None:
    """Their squares would overflow."""
    script.vector = lambda _: [1e200] * DIMENSIONS
    (vector,) = await host.embed(["x"], purpose="add")

    assert math.fsum(value * value for value in vector) == pytest.approx(1.0)


@pytest.mark.parametrize("error", [ConnectionError("refused"), RuntimeError("boom"), TimeoutError("late")])
async def test_an_embedder_that_is_down_is_unavailable_and_recovers(
    host: Mem0Embedder, script: ProviderScript, error: Exception
) -> None:
    """The next call succeeds."""
    works = script.vector
    script.vector = lambda _: error
    with pytest.raises(ModelUnavailableError):
        await host.embed(["x"], purpose="add")
    script.vector = works

    assert len(await host.embed(["x"], purpose="add")) == 1


async def test_unknown_dimensions_are_measured_with_the_first_vector(script: ProviderScript, tmp_path: Path) -> None:
    """The identity contains `?` until then; later vectors must have the same length."""
    made = Backend(backend_config(tmp_path, embedder={"provider": "scripted", "model": "host"}))
    before = made.embedder.identity
    await made.embedder.embed(["x"], purpose="add")
    after = made.embedder.identity
    script.vector = lambda _: [1.0]
    with pytest.raises(ModelError):
        await made.embedder.embed(["y"], purpose="add")
    await made.close()

    assert (before, after) == ("scripted/host/?", f"scripted/host/{DIMENSIONS}")


async def test_a_slow_embedder_is_unavailable_after_the_deadline(script: ProviderScript, tmp_path: Path) -> None:
    """The deadline is ours and does not depend on the provider."""
    made = scripted_backend(tmp_path, "host")
    await made.pools.embedder.run(made.embedding_model)
    script.embedder_gate.clear()
    hasty = Mem0Embedder(made.embedding_model, made.embedder_provider, made.pools.embedder, deadline=0.05)
    with pytest.raises(ModelUnavailableError, match=r"within 0\.05 s"):
        await hasty.embed(["x"], purpose="add")
    script.embedder_gate.set()
    await made.close()


async def test_gemini_gets_up_to_100_texts_per_request(gemini: FakeGemini, tmp_path: Path) -> None:
    """250 texts take three requests and get the stored dimensions."""
    made = Backend(backend_config(tmp_path))
    texts = [f"text number {number}" for number in range(250)]
    vectors = await made.embedder.embed(texts, purpose="add")
    await made.close()

    assert len(vectors) == 250
    assert [len(request.texts) for request in gemini.requests] == [100, 100, 50]
    assert [text for request in gemini.requests for text in request.texts] == texts
    assert made.embedder.identity == "gemini/models/gemini-embedding-2/768"


async def test_failed_gemini_embedding_requests_are_retried(
    gemini: FakeGemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller does not see one 503; repeated failures raise `ModelUnavailableError`."""
    remove_retry_pauses(monkeypatch)
    made = Backend(backend_config(tmp_path))
    gemini.add("embedder", Failure(503))
    first = await made.embedder.embed(["x"], purpose="add")
    gemini.set_default("embedder", Failure(429))
    with pytest.raises(ModelUnavailableError, match="429"):
        await made.embedder.embed(["y"], purpose="add")
    await made.close()

    assert len(first) == 1
