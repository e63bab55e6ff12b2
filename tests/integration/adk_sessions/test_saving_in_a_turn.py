"""What a callback or a tool gives to memory during a turn is learned right after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.engine import Engine
from gaia_memory.engine_registry import EngineSource
from gaia_memory.learning.sweep import Sweeper
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm, call
from support.host_matrix import wait_until
from support.hosts.adk_runner import APP, SESSION, USER, run_turn
from support.hosts.session_services import session_service
from support.plugin_host import events_text, set_extractor

KEY = SessionKey(APP, USER, SESSION)


async def save_last_events(tool_context: ToolContext) -> str:
    """Add the turn's events, as a tool."""
    turn = [each for each in tool_context.session.events if each.invocation_id == tool_context.invocation_id]
    await tool_context.add_events_to_memory(events=turn, custom_metadata={"origin": "tool"})
    return "saved"


class Host:
    """A Runner of somebody else with plugin and service, and what was asked of the extractor."""

    def __init__(self, runner: Runner, engine: Engine, service: Mem0MemoryService) -> None:
        self.runner, self.engine, self.service = runner, engine, service
        self.extractor = ScriptedExtractor(default=[])
        set_extractor(engine, self.extractor)

    @property
    def learned(self) -> list[list[str]]:
        """What the user said in each question to the extractor."""
        return [[said.text for said in chunk.messages if said.role == "user"] for chunk in self.extractor.chunks]

    async def texts(self) -> list[str]:
        return [fact.text for fact in await self.engine.memory.facts(self.engine.scope(APP, USER))]


@asynccontextmanager
async def open_host(
    folder: Path, model: ScriptedLlm, *, kind: str = "database", config: dict[str, Any] | None = None, **agent: Any
) -> AsyncIterator[Host]:
    settings = {"app": APP, "home": str(folder / "gaia"), **(config or {})}
    source, service = EngineSource(settings), Mem0MemoryService(config=settings)
    root = LlmAgent(name="root", model=model, **agent)
    async with session_service(kind, folder) as sessions:
        app = App(name=APP, root_agent=root, plugins=[MemoryPlugin(config=settings)])
        runner = Runner(app=app, session_service=sessions, memory_service=service, auto_create_session=True)
        try:
            yield Host(runner, await source.acquire(), service)
        finally:
            await runner.close()
            await source.release()


@pytest.mark.parametrize("kind", ["database", "memory"])
async def test_a_session_added_in_a_callback_is_learned_after_the_turn(kind: str, tmp_path: Path) -> None:
    """No model is asked in the turn, the next session knows it, and the session stays."""
    asked_in_turn: list[int] = []

    async def save(callback_context: CallbackContext) -> None:
        await callback_context.add_session_to_memory()
        await asyncio.sleep(0.05)
        asked_in_turn.append(len(host.extractor.chunks))

    model = ScriptedLlm(default="noted")
    async with open_host(tmp_path, model, kind=kind, after_agent_callback=save) as host:
        host.extractor.add(["Lives in Berlin"], ["Has a dog"])
        for count, text in enumerate(["I live in Berlin", "I have a dog"], start=1):
            await run_turn(host.runner, text)
            await wait_until(lambda count=count: len(host.learned) == count)
        await host.engine.sweep(force=True)
        session = await host.runner.session_service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
        texts = await host.texts()

    assert asked_in_turn == [0, 1]
    assert host.learned == [["I live in Berlin"], ["I have a dog"]]
    assert texts == ["Lives in Berlin", "Has a dog"]
    assert session is not None
    assert len(session.events) == 4


async def test_events_added_in_a_tool_are_learned_alone_and_with_their_metadata(tmp_path: Path) -> None:
    """What was said before waits until the conversation is quiet."""
    model = ScriptedLlm("noted", call("save_last_events"), "saved")
    async with open_host(tmp_path, model, tools=[save_last_events]) as host:
        host.extractor.add(["Has a dog"], ["Lives in Berlin"])
        await run_turn(host.runner, "I live in Berlin")
        await run_turn(host.runner, "I have a dog: save it")
        await wait_until(lambda: bool(host.learned))
        early = host.learned[:]
        await host.engine.sweep(force=True)
        facts = await host.engine.memory.facts(host.engine.scope(APP, USER))

    assert early == [["I have a dog: save it"]]
    assert host.learned == [["I have a dog: save it"], ["I live in Berlin"]]
    assert [(fact.text, fact.metadata.get("origin")) for fact in facts] == [
        ("Has a dog", "tool"),
        ("Lives in Berlin", None),
    ]


async def test_what_was_added_in_a_turn_outlives_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored when the turn ends: the next process learns it without waiting until the conversation is quiet."""
    monkeypatch.setattr(Engine, "start", lambda *_, **__: None)
    model = ScriptedLlm(call("save_last_events"), "saved", "hello")
    with monkeypatch.context() as patch:
        patch.setattr(Sweeper, "_has_room_for", lambda *_: False)
        async with open_host(tmp_path, model, tools=[save_last_events]) as host:
            await run_turn(host.runner, "My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD, and I have a dog")
            assert host.learned == []
            stored = await host.engine.conversations.row(KEY)
    async with open_host(tmp_path, model) as host:
        host.extractor.add(["Has a dog"])
        await run_turn(host.runner, "hello")
        await host.engine.sweep()
        texts = await host.texts()
        row = await host.engine.conversations.row(KEY)

    assert stored is not None
    assert "I have a dog" in (stored.progress.requests or "")
    assert "abcdefg" not in (stored.progress.requests or "")
    assert texts == ["Has a dog"]
    assert row is not None
    assert row.progress.requests is None


async def test_a_bad_argument_in_a_turn_is_logged_with_the_fix(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer comes all the same, and outside of a turn the same call raises."""

    async def save(callback_context: CallbackContext) -> None:
        await callback_context.add_events_to_memory(events="all")  # type: ignore[arg-type]
        await callback_context.add_events_to_memory(events=[], custom_metadata={"ttl": "soon"})

    async with open_host(tmp_path, ScriptedLlm("hello"), after_agent_callback=save) as host:
        answer = events_text(await run_turn(host.runner, "hi"))
        with pytest.raises(TypeError, match=r"events is a str: pass a list of Event"):
            await host.service.add_events_to_memory(app_name=APP, user_id=USER, events="all")  # type: ignore[arg-type]

    assert answer == "hello"
    assert "events is a str: pass a list of Event" in caplog.text
    assert "ttl" in caplog.text


async def test_what_was_added_in_a_turn_is_gone_once_everything_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text waits in the ledger, so a forget takes it there too."""
    monkeypatch.setattr(Sweeper, "_has_room_for", lambda *_: False)
    async with open_host(tmp_path, ScriptedLlm(call("save_last_events"), "saved"), tools=[save_last_events]) as host:
        await run_turn(host.runner, "I have a dog")
        before = await host.engine.conversations.row(KEY)
        await host.engine.memory.forget(host.engine.scope(APP, USER))
        after = await host.engine.conversations.row(KEY)

    assert before is not None
    assert before.progress.requests
    assert after is not None
    assert after.progress.requests is None
