"""Hosts as others build them, with both plugins, the memory service and nothing configured but the home."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.integrations.openai import OpenAILlm
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from openai import AsyncOpenAI

from gaia_memory import Mem0MemoryService, MemoryPlugin, Scope, SessionWindowPlugin, open_memory
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.live_model import LiveModel, talk_live
from support.hosts.plain_runner import run_turn
from support.servers.fake_openai import CHAT_MODEL, Answer, Body, FakeOpenAI, HttpError

APP, USER = "shop", "ada"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name the home by the environment alone."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    return tmp_path


@asynccontextmanager
async def opened(agent: LlmAgent, home: Path) -> AsyncIterator[Runner]:
    sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{home / 'sessions.db'}")
    runner = Runner(
        app=App(name=APP, root_agent=agent, plugins=[SessionWindowPlugin(window_turns=30), MemoryPlugin()]),
        session_service=sessions,
        memory_service=Mem0MemoryService(),
        auto_create_session=True,
    )
    try:
        yield runner
    finally:
        await runner.close()
        await sessions.close()


async def learned() -> str:
    """Learn everything that waits and return all facts of the person."""
    async with open_memory() as gaia:
        await gaia.sweep(force=True)
        return "\n".join(fact.text for fact in await gaia.memory.facts(Scope(APP, USER)))


async def test_what_is_said_to_a_booking_task_is_learned(home: Path) -> None:
    """Over two turns that ADK routes to the task, and in the one after it."""
    worker = ScriptedLlm("Where to, and what do you eat?", "And from where?", call("finish_task", result="booked"))
    booker = LlmAgent(name="booker", model=worker, mode="task", description="books trips", instruction="Ask.")
    model = ScriptedLlm(call("booker", request="trip"), default="Done.")
    async with opened(LlmAgent(name="root", model=model, instruction="x", sub_agents=[booker]), home) as runner:
        for text in ("A trip, please.", "I am vegan and I want to fly to Lisbon.", "I live in Hamburg.", "Thanks."):
            await run_turn(runner, text, user=USER)
        facts = await learned()

    assert all(word in facts for word in ("vegan", "Lisbon", "Hamburg"))


async def test_a_server_that_wants_roles_in_turn_answers_every_turn(home: Path) -> None:
    """As it does without memory; no message of memory's own is among the person's and the model's."""

    def answer(body: Body) -> Answer:
        roles = [message["role"] for message in body["messages"][1:]]
        is_in_turn = roles == [("user", "assistant")[at % 2] for at in range(len(roles))]
        return "fine" if is_in_turn else HttpError(400, "Conversation roles must alternate user/assistant/...")

    with FakeOpenAI() as server:
        server.set_default("agent", answer)
        # Nothing closes this client, and a connection that it keeps would outlive the loop.
        client = AsyncOpenAI(base_url=server.url, api_key="x", default_headers={"Connection": "close"})
        model = OpenAILlm(model=CHAT_MODEL, client=client)
        async with opened(LlmAgent(name="a", model=model, instruction="x"), home) as runner:
            said = [await run_turn(runner, text, user=USER) for text in ("I live in Hamburg.", "I like tea.")]

    assert said == ["fine", "fine"]


async def test_a_live_session_keeps_what_is_private_out_of_memory(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It answers commands, and says that it has neither profile nor tools."""
    model = LiveModel()
    async with opened(LlmAgent(name="a", model=model, instruction="x"), home) as runner:
        await run_turn(runner, "/remember I am allergic to nuts", user=USER, session="text")
        texts = ("/private on", "My brother Tom is ill.", "/remember I hate jazz")
        said = [("say", "I live in Hamburg."), *(("type", text) for text in texts)]
        events = await talk_live(runner, said, user=USER, session="live")  # type: ignore[arg-type]
        facts = await learned()

    assert "I will remember: I hate jazz" in str(events)
    assert all(word in facts for word in ("nuts", "Hamburg", "jazz"))
    assert "Tom" not in facts
    assert "a live session has no profile, notes or tools" in caplog.text
    assert model.heard == ["I live in Hamburg.", "My brother Tom is ill."]
