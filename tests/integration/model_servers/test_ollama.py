"""Ollama by configuration alone: its own API for learning and vectors, OpenAI's for the agent."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import ConfigError, open_memory
from support.servers.call_limits import change_limits
from support.servers.end_to_end_scenario import expected_results, open_memory_with_agent, run_scenario
from support.servers.fake_ollama import CHAT_MODEL, FakeOllama
from support.servers.fake_openai import DIMENSIONS, NoAnswer

SETTINGS: dict[str, Any] = {
    "model": f"openai:{CHAT_MODEL}",
    "memory": {
        "llm": {"provider": "ollama", "model": CHAT_MODEL},
        "embedder": {"provider": "ollama", "model": "nomic-embed-text"},
    },
}


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """Run a fake Ollama at the address where its client looks for one."""
    with FakeOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.address)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def settings(**memory: Any) -> dict[str, Any]:
    """Return the recipe's configuration with other sections under `memory`."""
    return {**SETTINGS, "memory": {**SETTINGS["memory"], **memory}}


async def test_a_user_is_learned_known_and_forgotten_on_ollama(ollama: FakeOllama, tmp_path: Path) -> None:
    """No model is downloaded, and no prompt is truncated."""
    met = await run_scenario(ollama, tmp_path / "home", SETTINGS)

    asked = {(request.kind, request.path) for request in ollama.requests}
    assert met == expected_results(f"ollama/nomic-embed-text/{DIMENSIONS}")
    assert asked == {
        ("agent", "/v1/chat/completions"),
        ("extractor", "/api/chat"),
        ("profile", "/api/chat"),
        ("embedder", "/api/embed"),
    }
    assert ollama.requests_of("extractor")[0].body["format"]["required"] == ["memory"]
    assert ollama.pulled == []


async def test_the_complete_extraction_prompt_fits_into_the_context(
    ollama: FakeOllama, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ollama silently truncates prompts above 4,096 tokens; a larger OLLAMA_CONTEXT_LENGTH is kept."""
    async with open_memory_with_agent(tmp_path / "home", SETTINGS) as (gaia, agent):
        await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
        await gaia.sweep(force=True)
        monkeypatch.setenv("OLLAMA_CONTEXT_LENGTH", "65536")
        await gaia.conversation(agent, user_id="ada", channel="web").send("I like tea")
        await gaia.sweep(force=True)

    assert [request.body["options"]["num_ctx"] for request in ollama.requests_of("extractor")] == [16_384, 65_536]
    assert "Memory Extractor" in ollama.prompts_after_truncation[0]
    assert "I like tea" in ollama.prompts_after_truncation[0]


@pytest.mark.parametrize("part", ["llm", "embedder"])
async def test_a_missing_package_is_named_when_memory_is_opened(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the extra that contains it; nothing is installed, requested or started."""
    for module in [name for name in sys.modules if name.partition(".")[0] == "ollama" or name.endswith("s.ollama")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "ollama", None)
    with pytest.raises(ConfigError) as refused:
        async with open_memory({"home": str(tmp_path / "home"), "memory": {part: {"provider": "ollama"}}}):
            raise AssertionError("memory was opened")

    assert refused.value.problems == (
        f"memory.{part}.provider: 'ollama' needs a package that is not installed: pip install 'gaia-memory[ollama]'",
    )


async def test_a_model_that_was_not_pulled_is_named_and_never_downloaded(ollama: FakeOllama, tmp_path: Path) -> None:
    """Learning waits for it, and meanwhile facts are found by their words."""
    ollama.models.remove("nomic-embed-text:latest")
    missing = settings(llm={"provider": "ollama", "model": "llama9"})
    async with open_memory_with_agent(tmp_path / "home", missing) as (gaia, agent):
        scope = gaia.scope("ada")
        await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
        failed = (await gaia.sweep(force=True)).failed
        learning = (await gaia.memory.status(scope)).pending[0].reason
        await gaia.memory.remember(scope, "allergic to nuts")
        [hit] = await gaia.memory.recall(scope, "nuts")
        vectors = await reason_of_trouble(gaia)

    assert failed == 1
    assert 'model "llama9" not found, try pulling it first' in str(learning)
    assert 'model "nomic-embed-text" not found, try pulling it first' in vectors
    assert (hit.fact.text, hit.missing) == ("allergic to nuts", ("vectors",))
    assert ollama.pulled == []


async def reason_of_trouble(gaia: Any) -> str:
    """Return the reason why the store cannot be brought up to date, once it is known."""
    async with asyncio.timeout(60):
        while gaia.memory.engine_state().store_problem is None:
            await asyncio.sleep(0.01)
    return str(gaia.memory.engine_state().store_problem)


async def test_a_hanging_ollama_is_given_up(
    ollama: FakeOllama, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own client waits forever."""
    change_limits(monkeypatch, "OWN_SERVER_LEARNING", timeout_seconds=0.3)
    ollama.set_default("extractor", NoAnswer())
    async with asyncio.timeout(60), open_memory_with_agent(tmp_path / "home", SETTINGS) as (gaia, agent):
        await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
        await gaia.sweep(force=True)
        [waiting] = (await gaia.memory.status(gaia.scope("ada"))).pending

    assert "did not answer in time" in str(waiting.reason)


async def test_mem0_still_downloads_models_and_truncates_prompts(ollama: FakeOllama, tmp_path: Path) -> None:
    """If this fails, mem0 has fixed it, and `backend/providers/ollama.py` can be simplified."""

    def ask() -> None:
        from mem0.utils.factory import EmbedderFactory, LlmFactory

        ollama.models.remove("nomic-embed-text:latest")
        embedder = EmbedderFactory.create("ollama", {"model": "nomic-embed-text"}, None)
        llm = LlmFactory.create("ollama", {"model": CHAT_MODEL})
        assert llm.client._client.timeout.read is None
        llm.generate_response([{"role": "user", "content": "hi"}])
        for made in (embedder, llm):
            made.client.close()

    await asyncio.to_thread(ask)

    assert ollama.pulled == ["nomic-embed-text"]
    assert "num_ctx" not in ollama.requests_of("agent")[0].body["options"]
