"""The backend over real mem0: the objects built from a configuration, and the files left on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import resolve_provider
from support.servers.fake_gemini import FakeGemini, facts, with_thoughts
from support.storage.scripted_backend import (
    DIMENSIONS,
    backend_config,
    keep_all,
    make_chunk,
    register_scripted_providers,
    scripted_backend,
)

Make = Callable[..., Backend]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Return a function that builds backends, which are closed after the test."""
    made: list[Backend] = []

    def build(**memory: Any) -> Backend:
        made.append(Backend(backend_config(tmp_path / "home", **memory)))
        return made[-1]

    yield build
    await asyncio.gather(*(backend.close() for backend in made))


async def built(backend: Backend) -> Any:
    """Return what mem0 makes of the configuration for plain mem0, built in a thread that may block."""
    from mem0.configs.base import MemoryConfig

    options = await backend.pools.store.run(backend.mem0_config, backend._config.home / "store/current")
    return MemoryConfig(**options)


@pytest.mark.acceptance("L02")
async def test_the_default_with_a_key_is_gemini_and_chroma_under_the_home(
    make: Make, gemini: FakeGemini, tmp_path: Path
) -> None:
    """The app's model, the new embedder, both of mem0's stores in the home, and no key anywhere in the home."""
    made = await built(make())

    assert (made.llm.provider, made.llm.config) == ("gemini", {"model": "gemini-3.5-flash"})
    assert (made.embedder.provider, made.embedder.config["model"]) == ("gemini", "models/gemini-embedding-2")
    assert made.vector_store.provider == "chroma"
    assert made.vector_store.config.path == str(tmp_path / "home/store/current")
    assert made.history_db_path == str(tmp_path / "home/mem0/history.db")
    assert "no-real-key" not in repr(made)


@pytest.mark.acceptance("L02")
async def test_the_default_without_a_key_is_offline(make: Make) -> None:
    """The same stores, and providers that need no key."""
    backend = make()
    made = await built(backend)

    assert (made.llm.provider, made.embedder.provider) == ("lmstudio", "offline")
    assert type(await backend.pools.model.run(backend.llm.instance)).__name__ == "NoModel"


@pytest.mark.acceptance("L03")
async def test_an_external_store_gets_its_settings_and_no_path(make: Make) -> None:
    """Extra keys are passed on, and the dimensions are filled in for a store that needs them."""
    where = {"connection_string": "postgresql://gaia@localhost/gaia", "hnsw": False, "minconn": 2}
    store = {"provider": "pgvector", "collection_name": "people", "config": where}
    made = (await built(make(vector_store=store))).vector_store.config

    assert (made.collection_name, made.hnsw, made.minconn, made.embedding_model_dims) == ("people", False, 2, 512)
    assert made.connection_string == "postgresql://gaia@localhost/gaia"
    assert not hasattr(made, "path")


async def test_dimensions_a_store_needs_are_measured_if_unknown(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from one vector of a host's embedder that states no dimensions."""
    register_scripted_providers(monkeypatch, "host")
    store = {"provider": "pgvector", "connection_string": "postgresql://gaia@localhost/gaia"}
    backend = make(vector_store=store, embedder={"provider": "scripted", "model": "host"})
    made = await backend.pools.store.run(backend.store_config, backend._config.home)

    assert made.embedding_model_dims == DIMENSIONS


async def test_a_hosts_own_provider_named_gemini_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that replaced mem0's Gemini gets its own."""
    from mem0.utils.factory import LlmFactory

    script = register_scripted_providers(monkeypatch, "gemini-x")
    monkeypatch.setitem(LlmFactory.provider_to_class, "gemini", LlmFactory.provider_to_class["scripted"])
    script.answers.append(facts("from the host"))
    backend = make(llm={"provider": "gemini", "model": "gemini-x"})

    assert [
        fact.text for fact in await backend.extractor.extract(make_chunk("hi"), instructions="", check=keep_all)
    ] == ["from the host"]


async def test_gemini_requests_contain_only_the_needed_options(make: Make, gemini: FakeGemini) -> None:
    """JSON for facts, a large output limit, plain text for a profile."""
    backend = make()
    gemini.add("extractor", facts("User likes tea"))
    gemini.add("agent", with_thoughts("- User likes tea"))
    await backend.extractor.extract(make_chunk("I like tea"), instructions="", check=keep_all)
    answer = await backend.language_model.complete("Tell.", system="You tell.")
    asked, told = (request.body["generationConfig"] for request in gemini.requests)

    assert answer == "- User likes tea"
    assert asked["responseMimeType"] == "application/json"
    assert asked["maxOutputTokens"] == 8192
    assert "responseMimeType" not in told
    assert gemini.requests[1].system == "You tell."
    assert backend.language_model.identity == "gemini/gemini-3.5-flash"


@pytest.mark.acceptance("L11")
async def test_a_slow_extraction_delays_no_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's `remember` completes long before it."""
    script = register_scripted_providers(monkeypatch, "slow")
    backend = scripted_backend(tmp_path, "slow")
    script.answers.extend([facts()] * 20)
    await backend.embedder.embed(["warm"], purpose="add")
    script.llm_gate.clear()
    asked = [
        asyncio.create_task(backend.extractor.extract(make_chunk("hi"), instructions="", check=keep_all))
        for _ in range(20)
    ]
    while len(script.prompts) < 2:
        await asyncio.sleep(0.005)
    await backend.embedder.embed(["now"], purpose="add")
    waiting = sum(not task.done() for task in asked)
    script.llm_gate.set()
    await asyncio.gather(*asked)
    await backend.close()

    assert waiting == 20


async def test_mem0s_log_lines_that_quote_users_appear_at_debug_only(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """A host that writes through `gaia.mem0` does not fill its log with what users said."""
    backend = make()
    await backend.pools.store.run(backend.load)
    logger = logging.getLogger("mem0.memory.main")
    with caplog.at_level(logging.INFO):
        logger.info("Updating memory with data='a secret'")
        logger.warning("Skipping invalid message format: a secret")
    quiet = caplog.text
    with caplog.at_level(logging.DEBUG):
        logger.info("Updating memory with data='a secret'")

    assert "a secret" not in quiet
    assert "mem0 reports a problem" in quiet
    assert "a secret" in caplog.text


def test_every_embedded_store_gets_a_path_in_the_home() -> None:
    """mem0's default for qdrant and faiss would be a folder in /tmp."""
    for name in ("chroma", "qdrant", "faiss"):
        made = resolve_provider.store_config(resolve_provider.Provider(name), "/home/store", lambda: 384)

        assert made["path"] == "/home/store"
