"""mem0's rerankers behind our port: the behavior we rely on, and the errors they swallow."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers.provider_check import check_providers
from gaia_memory.errors import BadAnswerError, ConfigError, ModelUnavailableError
from support.servers.fake_openai import CHAT_MODEL, FakeOpenAI, HttpError
from support.storage.scripted_backend import backend_config

QUESTION = "what does Noa drink?"
TEXTS = ["Noa has a dog", "Noa likes green tea", "Noa lives in Haifa"]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """The test's own server with OpenAI's API."""
    with FakeOpenAI() as running:
        yield running


def through(server: FakeOpenAI) -> dict[str, Any]:
    """Return mem0's LLM reranker on that server."""
    llm = {"provider": "openai", "config": {"openai_base_url": server.url, "model": CHAT_MODEL}}
    return {"provider": "llm_reranker", "llm": llm}


def backend(home: Path, **reranker: Any) -> Backend:
    return Backend(
        backend_config(home, llm={"provider": "offline"}, embedder={"provider": "offline"}, reranker=reranker)
    )


async def scores(made: Backend) -> list[float]:
    assert made.reranker is not None
    try:
        return await made.reranker.score(QUESTION, TEXTS)
    finally:
        await made.close()


async def test_an_error_swallowed_by_mem0_is_detected_and_ends_the_call(
    server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """mem0 would score that text 0.5 and continue with the next; no text is in the log."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.add("agent", "0.1", HttpError(401, "Noa likes green tea"))
    caplog.set_level(logging.INFO)

    with pytest.raises(ModelUnavailableError, match="the reranker llm_reranker") as raised:
        await scores(backend(tmp_path, **through(server)))
    assert "401" in str(raised.value)
    assert len(server.requests_of("agent")) == 2
    assert "green" not in f"{caplog.text}{raised.value}"


class Client:
    """The client that each of mem0's rerankers calls, in the form it expects."""

    def __init__(self, error: Exception | None = None, ratings: tuple[float, ...] = (0.1, 0.9, 0.4)) -> None:
        self.error, self.ratings = error, ratings
        self.models = self

    def rerank(self, *, documents: list[str], **_: Any) -> Any:
        if self.error:
            raise self.error
        rated = sorted(enumerate(self.ratings), key=lambda each: -each[1])
        return SimpleNamespace(results=[SimpleNamespace(index=at, relevance_score=score) for at, score in rated])

    def predict(self, pairs: list[list[str]], **_: Any) -> list[float]:
        assert pairs == [[QUESTION, text] for text in TEXTS]
        if self.error:
            raise self.error
        return list(self.ratings)


def enter(monkeypatch: pytest.MonkeyPatch, name: str, client: Client) -> None:
    """Create mem0's own class `name` without its package, calling `client`."""
    from mem0 import reranker
    from mem0.utils import factory

    kinds = {"cohere": "CohereReranker", "zero_entropy": "ZeroEntropyReranker"}
    kind = getattr(reranker, kinds.get(name, "SentenceTransformerReranker"))

    def make(given: Any) -> Any:
        made = object.__new__(kind)
        made.config = given
        setattr(made, "model" if name == "sentence_transformer" else "client", client)
        if name != "sentence_transformer":
            made.model = given.model
        return made

    monkeypatch.setattr(factory, "load_class", lambda _: make)


@pytest.mark.parametrize("name", ["cohere", "zero_entropy", "sentence_transformer"])
async def test_each_of_mem0s_rerankers_works_and_its_failures_are_detected(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On failure mem0 returns its input with zeros; here that is an error, and so are zeros."""
    made = backend(tmp_path, provider=name, top_k=1)
    monkeypatch.setattr(made.reranker, "_load", lambda: None)
    enter(monkeypatch, name, Client())
    assert await made.reranker.score(QUESTION, TEXTS) == [0.1, 0.9, 0.4]  # type: ignore[union-attr]

    for broken, error in (
        (Client(error=ConnectionError("refused")), ModelUnavailableError),
        (Client(ratings=(0.0, 0.0, 0.0)), BadAnswerError),
        (Client(ratings=(0.1, float("nan"), 0.4)), BadAnswerError),
    ):
        failing = backend(tmp_path, provider=name)
        monkeypatch.setattr(failing.reranker, "_load", lambda: None)
        enter(monkeypatch, name, broken)
        with pytest.raises(error):
            await scores(failing)
    await made.close()


@pytest.mark.parametrize(
    ("reranker", "told"),
    [
        ({"provider": "coher"}, "memory.reranker.provider: 'coher' is not a provider; did you mean 'cohere'?"),
        ({"provider": "cohere", "modell": "x"}, "memory.reranker.modell: not a key of the provider 'cohere'; did you"),
        ({"provider": "zero_entropy"}, "'zero_entropy' needs a package that is not installed: pip install zeroentropy"),
        ({"provider": "local"}, "memory.reranker.model: is missing: name the folder"),
        ({"provider": "local", "model": "nowhere"}, "nowhere' is no folder"),
        ({"provider": "local", "path": "x"}, "memory.reranker.path: not a key of the provider 'local'"),
    ],
)
async def test_an_unusable_reranker_is_rejected_before_memory_opens(
    reranker: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """The error names the key and the fix; `none` is the default and needs no check."""
    offline = {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}
    with pytest.raises(ConfigError) as refused:
        await check_providers(backend_config(tmp_path, **offline, reranker=reranker))

    assert told in str(refused.value)
    assert backend(tmp_path, provider="none").reranker is None


async def test_an_edited_reranker_applies_at_the_next_call_until_it_is_removed(
    server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is in the file, it orders the hits; its failure is named on the hits."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    plain = "model: offline\nmemory:\n  llm: {provider: offline}\n  embedder: {provider: offline}\n"
    named = f"  reranker: {json.dumps(through(server))}\n"
    file = tmp_path / "gaia.yaml"
    await asyncio.to_thread(file.write_text, plain)
    async with open_memory(file, home=tmp_path / "home") as gaia:
        scope = gaia.scope("itay")
        await gaia.memory.add(scope, [])
        for text in ("Noa drinks green tea", "Noa has a dog"):
            await gaia.memory.remember(scope, text)
        before = [hit.fact.text for hit in await gaia.memory.recall(scope, QUESTION)]
        assert before == ["Noa drinks green tea", "Noa has a dog"]

        await asyncio.to_thread(file.write_text, plain + named)
        server.add("agent", "0.1", "0.9")
        hits = await gaia.memory.recall(scope, QUESTION)
        assert [(hit.fact.text, set(hit.why)) for hit in hits] == [(text, {"reranker"}) for text in reversed(before)]

        server.add("agent", HttpError(401))
        hits = await gaia.memory.recall(scope, QUESTION)
        assert [(hit.fact.text, hit.missing) for hit in hits] == [(text, ("reranker",)) for text in before]

        await asyncio.to_thread(file.write_text, plain)
        hits = await gaia.memory.recall(scope, QUESTION)
        assert [(hit.fact.text, hit.missing) for hit in hits] == [(text, ()) for text in before]
