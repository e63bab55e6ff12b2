"""An OpenAI-compatible server, by configuration alone, with the quirks of common servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.integrations.openai import OpenAILlm
from openai import BadRequestError, OpenAIError

from gaia_memory import ConfigError, model_calls, open_memory
from support.servers.call_limits import change_limits
from support.servers.end_to_end_scenario import expected_results, open_memory_with_agent, run_scenario
from support.servers.fake_openai import CHAT_MODEL, DIMENSIONS, EMBEDDING_MODEL, Completion, FakeOpenAI, NoAnswer

AGENT = f"openai:{CHAT_MODEL}"
IDENTITY = f"openai/{EMBEDDING_MODEL}/{DIMENSIONS}"
MEMORY = {"llm": {"provider": "openai"}, "embedder": {"provider": "openai", "model": EMBEDDING_MODEL}}

SERVERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one that asks for a key": ({"key": "a-key"}, {}),
    "lm studio: no json mode, errors with status 200": ({"json_mode": False, "strict_path": False}, {}),
    "vllm: no dimensions": ({"takes_dimensions": False}, {"embedding_dims": DIMENSIONS}),
    "vectors of another length": ({"dimensions": 1024}, {}),
    "vectors cut to a length": ({"dimensions": 1024}, {"embedding_dims": 512}),
}


@pytest.mark.parametrize("habits", SERVERS, ids=list(SERVERS))
async def test_a_user_is_learned_known_and_forgotten_on_a_server_that_resembles_openai(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agent, extraction, profile and vectors all use the server named by the environment."""
    server_is, embedder_is = SERVERS[habits]
    with FakeOpenAI(**server_is) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        if server.key is not None:
            monkeypatch.setenv("OPENAI_API_KEY", server.key)
        embedder = {**MEMORY["embedder"], **embedder_is}
        settings = {"model": AGENT, "memory": {**MEMORY, "embedder": embedder}}
        met = await run_scenario(server, tmp_path / "home", settings)

    dimensions = embedder_is.get("embedding_dims", server.dimensions)
    expected = expected_results(f"openai/{EMBEDDING_MODEL}/{dimensions}")
    assert met == expected | ({} if server.takes_dimensions else {"plain": None})
    assert {request.body["model"] for request in server.requests_of("extractor")} == {CHAT_MODEL}
    assert {"remember", "load_memory"} <= set(server.requests_of("agent")[0].tools)
    assert "- Has a sister called Noa" in server.requests_of("agent")[1].system
    assert len(server.requests_of("profile")) == 1


async def test_learning_and_vectors_may_use_different_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gaia.yaml overrides the environment, and neither server needs a key or gets another service's key."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "somebody-elses-key")
    with FakeOpenAI() as talking, FakeOpenAI() as learning, FakeOpenAI() as embedding:
        monkeypatch.setenv("OPENAI_BASE_URL", talking.url)
        memory = {
            "llm": {"provider": "openai", "model": CHAT_MODEL, "openai_base_url": learning.url},
            "embedder": {"provider": "openai", "model": EMBEDDING_MODEL, "openai_base_url": embedding.url},
        }
        learning.set_default("extractor", '{"memory": [{"text": "User likes tea"}]}')
        async with open_memory_with_agent(tmp_path / "home", {"model": AGENT, "memory": memory}) as (gaia, agent):
            await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
            await gaia.sweep(force=True)
            hits = await gaia.memory.recall(gaia.scope("ada"), "tea")
            described = gaia.describe()

    asked = [{request.kind for request in each.requests} for each in (talking, learning, embedding)]
    sent = {each.headers["authorization"] for server in (talking, learning, embedding) for each in server.requests}
    assert asked == [{"agent"}, {"extractor"}, {"embedder"}]
    assert sent == {"Bearer no-key"}
    assert [hit.fact.text for hit in hits] == ["User likes tea"]
    assert described == f"agent: {CHAT_MODEL} · memory: {CHAT_MODEL} + {EMBEDDING_MODEL} embedder"


FORMATS = {
    "takes schemas": ({}, ["json_schema", "json_schema"]),
    "only json mode": ({"json_schemas": False}, ["json_schema", "json_object", "json_object"]),
    "lm studio: only schemas": ({"json_mode": False}, ["json_schema", "json_schema"]),
    "neither": ({"json_schemas": False, "json_mode": False}, ["json_schema", "json_object", None, None]),
}


@pytest.mark.parametrize("server_is", FORMATS, ids=FORMATS)
async def test_a_form_that_a_server_refused_is_not_requested_again(
    server_is: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal costs one request per process, not one per conversation."""
    habits, formats = FORMATS[server_is]
    with FakeOpenAI(**habits) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        async with open_memory_with_agent(tmp_path / "home", {"model": AGENT, "memory": MEMORY}) as (gaia, agent):
            for channel in ("one", "two"):
                await gaia.conversation(agent, user_id="ada", channel=channel).send("hi")
                report = await gaia.sweep(force=True)
                assert report.consolidated == 1

    asked = [request.body.get("response_format") or {} for request in server.requests_of("extractor")]
    assert [each.get("type") for each in asked] == formats


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai/gpt-5", "`pip install litellm mcp`"),
        ("claude-sonnet-5", "`pip install anthropic`"),
        ("offlin", "use `auto`, `offline`"),
        ("openai:", "names no model"),
        ("gpt-5", "OPENAI_API_KEY is not set"),
        ("openai:gpt-5", "OPENAI_BASE_URL for a server of your own"),
    ],
)
async def test_an_agents_model_without_its_package_or_key_is_refused_with_a_remedy(
    name: str, told: str, tmp_path: Path
) -> None:
    """In one line, before any request."""
    async with open_memory({"home": str(tmp_path / "home"), "model": name}) as gaia:
        with pytest.raises(ConfigError) as refused:
            _ = gaia.model

    assert told in str(refused.value)
    assert len(refused.value.problems) == 1


async def test_a_hanging_server_is_given_up_by_the_agent_and_by_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One short apology, and the conversation stays pending, after a short answer was asked for in vain."""
    change_limits(monkeypatch, "OWN_SERVER_AGENT", "OWN_SERVER_LEARNING", timeout_seconds=0.3, max_attempts=1)
    with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for kind in ("agent", "extractor"):
            server.set_default(kind, NoAnswer())
        async with (
            asyncio.timeout(60),
            open_memory_with_agent(tmp_path / "home", {"model": AGENT, "memory": MEMORY}) as (gaia, agent),
        ):
            reply = await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
            await gaia.sweep(force=True)
            [waiting] = (await gaia.memory.status(gaia.scope("ada"))).pending

    assert "Sorry" in reply.text
    assert "did not answer in time" in str(waiting.reason)
    assert [request.kind for request in server.requests] == ["agent", "extractor", "extractor"]


async def test_an_endless_stream_of_an_agents_model_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As with Gemini; the person keeps the words so far, nothing is learned from them, and the log says why."""
    monkeypatch.setattr(model_calls, "AGENT_STREAM_SECONDS", 1.0)
    with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.set_default("agent", Completion("She's a doctor. ", is_endless=True))
        async with (
            open_memory_with_agent(tmp_path / "home", {"model": AGENT, "memory": MEMORY}) as (gaia, agent),
            asyncio.timeout(60),
        ):
            chat = gaia.conversation(agent, user_id="ada", channel="cli")
            pieces = [piece async for piece in chat.stream("What is Noa?")]
            await gaia.sweep(force=True)

    [request] = server.requests_of("extractor")
    assert "".join(pieces).startswith("She's a doctor. ")
    assert "What is Noa?" in request.conversation_text
    assert "doctor" not in request.conversation_text
    assert "the model repeats itself: choose a larger one" in caplog.text
    assert "did not answer in time" not in caplog.text


async def test_mem0_and_adk_still_lack_these_safeguards(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, one of them has been fixed.

    And `backend/providers/openai.py` or `adk/models/openai.py` has less to do.
    """

    def ask() -> None:
        from mem0.utils.factory import EmbedderFactory, LlmFactory

        llm = LlmFactory.create("openai", {"model": CHAT_MODEL})
        embedder = EmbedderFactory.create("openai", {"model": EMBEDDING_MODEL, "embedding_dims": DIMENSIONS}, None)
        with pytest.raises(BadRequestError):
            llm.generate_response([{"role": "user", "content": "hi"}], response_format={"type": "json_object"})
        with pytest.raises(BadRequestError):
            embedder.embed("hi")
        assert llm.generate_response([{"role": "user", "content": "hi"}]) == "half an"
        assert llm.client.timeout.read == 600
        monkeypatch.setenv("OPENROUTER_API_KEY", "somebody-elses-key")
        redirected = LlmFactory.create("openai", {"model": CHAT_MODEL, "openai_base_url": server.url})
        assert "openrouter" in str(redirected.client.base_url)
        for made in (llm, embedder, redirected):
            made.client.close()

    with FakeOpenAI(json_mode=False, takes_dimensions=False) as server:
        server.set_default("agent", Completion("half an", finish="length"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        await asyncio.to_thread(ask)
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(OpenAIError):
            _ = OpenAILlm(model=CHAT_MODEL)._openai_client
