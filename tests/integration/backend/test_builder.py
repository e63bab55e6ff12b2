"""The backend over real mem0: the objects built from a configuration, and the files left on disk."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import resolve_provider
from gaia_memory.errors import BadAnswerError, ConfigError, GaiaMemoryError, ModelUnavailableError
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


async def built(backend: Backend, folder: str = "store") -> Any:
    """Return mem0's configuration, built in a thread that may block."""
    return await backend.pools.store.run(backend.mem0_config, backend._config.home / folder)


@pytest.mark.acceptance("L02")
async def test_the_default_with_a_key_is_gemini_and_chroma_under_the_home(
    make: Make, gemini: FakeGemini, tmp_path: Path
) -> None:
    """The app's model, the new embedder, both of mem0's stores in the home, and no key anywhere in the home."""
    made = await built(make())

    assert (made.llm.provider, made.llm.config) == ("gemini", {"model": "gemini-3.5-flash"})
    assert (made.embedder.provider, made.embedder.config["model"]) == ("gemini", "models/gemini-embedding-2")
    assert (made.vector_store.provider, made.vector_store.config.path) == ("chroma", str(tmp_path / "home/store"))
    assert made.history_db_path == str(tmp_path / "home/mem0/history.db")
    assert "no-real-key" not in repr(made)


@pytest.mark.acceptance("L02")
async def test_the_default_without_a_key_is_offline(make: Make) -> None:
    """The same stores, and providers that need no key."""
    backend = make()
    memory = await backend.pools.store.run(backend.open_memory, backend._config.home / "store")

    assert (memory.config.llm.provider, memory.config.embedder.provider) == ("offline", "offline")
    assert memory.llm is backend.llm
    assert memory.embedding_model is await backend.pools.model.run(backend.embedding_model)
    assert type(await backend.pools.model.run(backend.llm.instance)).__name__ == "NoModel"


@pytest.mark.acceptance("L03")
async def test_an_external_store_gets_its_settings_and_no_path(make: Make) -> None:
    """Extra keys are passed on, and the dimensions are filled in for a store that needs them."""
    where = {"connection_string": "postgresql://gaia@localhost/gaia", "hnsw": False, "minconn": 2}
    store = {"provider": "pgvector", "collection_name": "people", "config": where}
    made = (await built(make(vector_store=store))).vector_store.config

    assert (made.collection_name, made.hnsw, made.minconn, made.embedding_model_dims) == ("people", False, 2, 384)
    assert made.connection_string == "postgresql://gaia@localhost/gaia"
    assert not hasattr(made, "path")


async def test_a_chroma_server_gets_no_path(make: Make) -> None:
    """The address is all it needs."""
    made = await built(make(vector_store={"provider": "chroma", "host": "localhost", "port": 8000}))

    assert made.vector_store.config.host == "localhost"
    assert "home" not in str(made.vector_store.config.path)


async def test_dimensions_a_store_needs_are_measured_if_unknown(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from one vector of a host's embedder that states no dimensions."""
    register_scripted_providers(monkeypatch, "host")
    store = {"provider": "pgvector", "connection_string": "postgresql://gaia@localhost/gaia"}
    made = await built(make(vector_store=store, embedder={"provider": "scripted", "model": "host"}))

    assert made.vector_store.config.embedding_model_dims == DIMENSIONS


@pytest.mark.parametrize(
    ("memory", "named"),
    [
        ({"llm": {"provider": "opnai"}}, "memory.llm.provider: 'opnai' is not a provider; did you mean 'openai'"),
        ({"embedder": {"provider": "gemnii"}}, "did you mean 'gemini'"),
        ({"vector_store": {"provider": "chorma"}}, "did you mean 'chroma'"),
        ({"llm": {"provider": "openai", "modle": "m"}}, "memory.llm.modle: not a key of the provider 'openai'"),
        ({"embedder": {"provider": "openai", "dims": 3}}, "memory.embedder.dims: not a key"),
        ({"vector_store": {"provider": "chroma", "pth": "x"}}, "memory.vector_store.pth: not a key"),
        ({"llm": {"provider": "offline", "colour": "blue"}}, "memory.llm.colour: not a key"),
    ],
)
async def test_unknown_providers_and_keys_are_named_with_a_suggestion(
    make: Make, memory: dict[str, Any], named: str
) -> None:
    """Every way into mem0 raises the same error, including the check."""
    backend = make(**memory)
    with pytest.raises(ConfigError) as checked:
        await backend.pools.store.run(backend.load)
    with pytest.raises(ConfigError):
        await backend.extractor.extract(make_chunk("hi"), instructions="", check=keep_all)

    assert named in str(checked.value)


async def test_all_problems_are_reported_at_once(make: Make) -> None:
    """The user fixes the file once."""
    backend = make(llm={"provider": "x1"}, embedder={"provider": "x2"}, vector_store={"provider": "x3"})
    with pytest.raises(ConfigError) as raised:
        await backend.pools.store.run(backend.load)

    assert len(raised.value.problems) == 3


async def test_a_provider_without_its_key_or_package_is_unavailable_with_a_reason(make: Make) -> None:
    """This is no reason to lose a conversation: the key may be added later."""
    backend = make(llm={"provider": "openai", "model": "m"}, embedder={"provider": "gemini"})
    with pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY"):
        await backend.extractor.extract(make_chunk("hi"), instructions="", check=keep_all)
    with pytest.raises(ModelUnavailableError, match="gemini"):
        await backend.embedder.embed(["hi"], purpose="add")


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


async def test_offline_can_be_built_by_mem0s_own_factories(make: Make) -> None:
    """A host that builds mem0 from the same configuration gets the same objects."""
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    backend = make()
    await backend.pools.store.run(backend.load)
    llm = await backend.pools.model.run(LlmFactory.create, "offline", {})
    embedder = await backend.pools.model.run(EmbedderFactory.create, "offline", {}, None)

    assert (type(llm).__name__, type(embedder).__name__) == ("NoModel", "OfflineEmbedder")


async def test_blocking_methods_refuse_to_run_on_the_event_loop(make: Make, tmp_path: Path) -> None:
    """Each method refuses before it does anything."""
    backend = make()
    for call in (backend.load, backend.llm.instance, backend.embedding_model):
        with pytest.raises(RuntimeError, match="blocks"):
            call()
    for opening in (backend.mem0_config, backend.open_memory):
        with pytest.raises(RuntimeError, match="blocks"):
            opening(tmp_path)


async def test_files_are_accessible_to_their_owner_only_and_mem0s_tables_stay_empty(make: Make) -> None:
    """This holds after learning and embedding; Chroma's folder is not part of this check."""
    backend = make()
    home = backend._config.home
    await backend.extractor.extract(make_chunk("I live in Haifa"), instructions="", check=keep_all)
    memory = await backend.pools.store.run(backend.open_memory, home / "store")
    vectors = await backend.embedder.embed(["User lives in Haifa"], purpose="add")
    payload = {"data": "User lives in Haifa", "user_id": "app:itay", "created_at": datetime.now(UTC).isoformat()}
    await backend.pools.store.run(memory.vector_store.insert, [list(vectors[0])], [payload], ["id-1"])
    found = await backend.pools.store.run(memory.search, "Haifa", filters={"user_id": "app:itay"})
    history = home / "mem0" / "history.db"
    rows = await asyncio.to_thread(_rows, history)

    assert [item["memory"] for item in found["results"]] == ["User lives in Haifa"]
    assert rows == {"history": 0, "messages": 0}
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


def _rows(path: Path) -> dict[str, int]:
    with sqlite3.connect(path) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("history", "messages")
        }
    connection.close()
    return counts


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


@pytest.mark.parametrize("answer", ["", "  ", None, 7, "<think>only</think>", "<think>\n- likes tea?"])
async def test_a_profile_answer_without_text_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    """The caller has a fallback profile for that."""
    script = register_scripted_providers(monkeypatch, "p")
    script.answers.append(answer)
    backend = scripted_backend(tmp_path, "p")
    with pytest.raises(BadAnswerError):
        await backend.language_model.complete("Tell.", system="You tell.")
    await backend.close()

    assert script.formats == [None]


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


async def test_openrouters_variable_does_not_redirect_openai(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """With OpenAI's key the calls go to OpenAI; OpenRouter's options are not taken for ones that work."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "or-key-1234")
    only_router = make(llm={"provider": "openai", "model": "m"})
    with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL for a server") as refused:
        await only_router.pools.model.run(only_router.llm.instance)
    monkeypatch.setenv("OPENAI_API_KEY", "oa-key-1234")
    both = make(llm={"provider": "openai", "model": "m"})
    kept = await both.pools.model.run(both.llm.instance)
    options = make(llm={"provider": "openai", "model": "m", "openrouter_base_url": "https://openrouter.ai/api/v1"})
    with pytest.raises(ConfigError, match=r"openrouter_base_url: not a key .* did you mean 'openai_base_url'"):
        await options.pools.store.run(options.load)

    assert "or-key" not in str(refused.value)
    assert "openai.com" in str(kept.client.base_url)
    assert kept.client.api_key == "oa-key-1234"


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


async def test_every_error_of_the_backend_is_a_gaia_memory_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catching the base class catches all."""
    script = register_scripted_providers(monkeypatch, "e")
    script.answers.append(KeyError("x"))
    backend = scripted_backend(tmp_path, "e")
    with pytest.raises(GaiaMemoryError):
        await backend.extractor.extract(make_chunk("hi"), instructions="", check=keep_all)
    await backend.close()


def test_every_embedded_store_gets_a_path_in_the_home() -> None:
    """mem0's default for qdrant and faiss would be a folder in /tmp."""
    for name in ("chroma", "qdrant", "faiss"):
        made = resolve_provider.store_config(resolve_provider.Provider(name), "/home/store", lambda: 384)

        assert made["path"] == "/home/store"
