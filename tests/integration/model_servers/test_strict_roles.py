"""Servers whose chat templates want the roles in turn and a message as one text, such as those of Mistral or Gemma."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.integrations.openai import OpenAILlm
from google.adk.models.base_llm import BaseLlm
from openai import AsyncOpenAI

from support.plugin_host import SCOPE, events_text, open_plugin_host
from support.servers.fake_openai import CHAT_MODEL, Answer, Body, FakeOpenAI, HttpError, call


@pytest.fixture
def server() -> Any:
    """Serve a model that refuses what Mistral's API and strict templates refuse, and calls a tool for an order."""
    with FakeOpenAI() as server:
        server.set_default("agent", answer_strictly)
        yield server


def answer_strictly(body: Body) -> Answer:
    messages = [message for message in body["messages"] if message["role"] != "system"]
    roles = [message["role"] for message in messages]
    if not all(isinstance(message.get("content") or "", str) for message in messages):
        return HttpError(400, "content must be a string")
    for before, role in zip(["", *roles], roles, strict=False):
        if role == "user" and before in {"user", "tool"}:
            return HttpError(400, f"Unexpected role 'user' after role '{before}'")
    if roles[-1] == "tool":
        return f"The tool says {messages[-1]['content']}"
    return call("find_order", number=7) if "order" in messages[-1]["content"] and body.get("tools") else "ok"


def find_order(number: int) -> str:
    """Look up an order."""
    return f"order {number} is on its way"


def openai_model(url: str) -> BaseLlm:
    """Return ADK's own model for such servers."""
    # Nothing closes this client, and a connection that it keeps would outlive the loop.
    client = AsyncOpenAI(base_url=url, api_key="x", default_headers={"Connection": "close"})
    return OpenAILlm(model=CHAT_MODEL, client=client)


def lite_llm(url: str) -> BaseLlm:
    """Return ADK's model over LiteLLM."""
    from google.adk.models.lite_llm import LiteLlm

    return LiteLlm(model=f"openai/{CHAT_MODEL}", api_base=url, api_key="x")


@pytest.mark.parametrize("streaming", [StreamingMode.NONE, StreamingMode.SSE])
@pytest.mark.parametrize("tools", [[find_order], []], ids=["tools", "none"])
@pytest.mark.parametrize(
    "model",
    [openai_model, pytest.param(lite_llm, marks=pytest.mark.skipif(not find_spec("litellm"), reason="no LiteLLM"))],
)
async def test_each_turn_is_answered_with_and_without_tools(
    model: Callable[[str], BaseLlm], tools: list[Any], streaming: StreamingMode, server: FakeOpenAI, tmp_path: Path
) -> None:
    """Also after a tool has answered; each request begins with all of the one before it in its turn."""
    agent = LlmAgent(name="shop", model=model(server.url), instruction="Help.", tools=tools)
    async with open_plugin_host(tmp_path, agent, config={"memory": {"preload_facts": True}}) as host:
        due_at = datetime.now(UTC) + timedelta(hours=1)
        await (await host.engine()).memory.remember(SCOPE, "Likes tea", due_at=due_at)
        config = RunConfig(streaming_mode=streaming)
        said = [events_text(await host.run_turn(text, run_config=config)) for text in ("hi", "my order?", "tea?")]
    sent = [request.body["messages"] for request in server.requests_of("agent")]
    last = sent[-1][-1]["content"]

    assert ("on its way" in said[1]) == bool(tools)
    assert last.startswith("<TURN_NOTES>")
    assert "Likes tea" in last
    assert last.endswith("</TURN_NOTES>\ntea?")
    assert sent[-1][: len(sent[-2])] == _without_notes(sent[-2])
    if tools:
        assert sent[2][: len(sent[1])] == sent[1]
        assert [message["role"] for message in sent[2][-3:]] == ["user", "assistant", "tool"]


def _without_notes(messages: list[Body]) -> list[Body]:
    return [
        {**each, "content": each["content"].rpartition("</TURN_NOTES>\n")[2]} if each["role"] == "user" else each
        for each in messages
    ]
