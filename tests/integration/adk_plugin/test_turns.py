"""The plugin's turns: marked in the ledger, harmless in every host."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import Workflow
from google.genai import types

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.sessions import turn_presence
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm, call
from support.plugin_host import (
    APP,
    KEY,
    SCOPE,
    SESSION,
    TOOLS,
    USER,
    broken_ledger_client,
    build_agent,
    contents_text,
    events_text,
    offered_tools,
    open_plugin_host,
    request_text,
    set_extractor,
    user_content,
)


async def test_a_turn_is_marked_only_while_it_runs(tmp_path: Path) -> None:
    """Each turn counts once."""
    during: list[Any] = []

    async def look(_: LlmRequest) -> str:
        during.append(await host.ledger_row())
        return "ok"

    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(look, look))) as host:
        await host.run_turn("hi")
        await host.run_turn("hi")
        after = await host.ledger_row()

    assert [row.turn.turn_no for row in during] == [1, 2]
    assert all(row.turn.active_until for row in during)
    assert after is not None
    assert (after.turn.turn_no, after.turn.active_until) == (2, None)


async def test_a_failed_turn_is_no_longer_marked(tmp_path: Path) -> None:
    """The next turn works."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(RuntimeError("429"), "ok"))) as host:
        with pytest.raises(RuntimeError):
            await host.run_turn("hi")
        failed = await host.ledger_row()
        events = await host.run_turn("hi")

    assert failed is not None
    assert failed.turn.active_until is None
    assert events_text(events) == "ok"


async def test_a_cancelled_turn_does_not_block_the_next_one(tmp_path: Path) -> None:
    """ADK calls no hook when it ends: the mark expires by itself, and the next turn works."""
    arrived = asyncio.Event()

    async def hang(_: LlmRequest) -> str:
        arrived.set()
        await asyncio.Event().wait()
        return ""

    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(hang, "ok"))) as host:
        turn = asyncio.create_task(host.run_turn("hi"))
        await arrived.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        events = await host.run_turn("hi")
        row = await host.ledger_row()

    assert events_text(events) == "ok"
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (2, None)


async def test_a_response_to_a_long_running_call_counts_as_a_turn(tmp_path: Path) -> None:
    """The host answers a long-running call; what the agent says then has to be learned."""

    def approve() -> None:
        """Ask for approval."""

    model = ScriptedLlm(call("approve"), "waiting", "approved")
    async with open_plugin_host(tmp_path, build_agent(model, tools=[LongRunningFunctionTool(approve)])) as host:
        events = await host.run_turn("please")
        [asked] = [found for event in events for found in event.get_function_calls()]
        response = types.FunctionResponse(id=asked.id, name="approve", response={"ok": True})
        await host.run_turn(types.Content(role="user", parts=[types.Part(function_response=response)]))
        row = await host.ledger_row()

    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (2, None)


async def test_a_long_turn_renews_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does so while a tool runs for long and no event arrives."""
    monkeypatch.setattr(turn_presence, "RENEWAL_INTERVAL_SECONDS", 0.01)
    renewed = asyncio.Event()

    async def tool() -> str:
        """Work."""
        row = await host.ledger_row()
        assert row is not None
        begun = row.turn.active_until
        async with asyncio.timeout(60):
            while (row := await host.ledger_row()) is None or row.turn.active_until == begun:
                await asyncio.sleep(0.01)
        renewed.set()
        return "done"

    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(call("tool"), "ok"), tools=[tool])) as host:
        await host.run_turn("hi")
        row = await host.ledger_row()

    assert renewed.is_set()
    assert row is not None
    assert row.turn.active_until is None


async def test_a_workflow_without_a_root_agent_is_marked_and_served(tmp_path: Path) -> None:
    """`ic.agent` is None there, and each leaf is its own root."""
    leaf = ScriptedLlm("ok", "ok")
    agent = build_agent(leaf, "leaf")
    flow: Any = Workflow(name="flow", edges=[("START", agent)])
    async with open_plugin_host(tmp_path, flow) as host:
        await (await host.engine()).memory.remember(SCOPE, "likes tea")
        events = await host.run_turn("hi")
        command = await host.run_turn("/memory")
        row = await host.ledger_row()

    assert "ok" in events_text(events)
    assert "likes tea" in events_text(command)
    assert "likes tea" in request_text(leaf.requests[0])
    assert offered_tools(leaf.requests[0]) == TOOLS
    assert row is not None
    assert row.turn.turn_no == 1


async def test_a_second_plugin_does_nothing_and_logs_it_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Two plugins would count every turn twice."""
    model = ScriptedLlm("ok", "ok")
    config = {"home": str(tmp_path / "gaia")}
    plugins: list[Any] = [MemoryPlugin(config=config), MemoryPlugin("again", config=config)]
    async with open_plugin_host(tmp_path, build_agent(model), plugins=plugins) as host:
        await host.run_turn("hi")
        await host.run_turn("hi")
        row = await host.ledger_row()

    assert row is not None
    assert row.turn.turn_no == 2
    assert offered_tools(model.requests[0]) == TOOLS
    assert [record.getMessage() for record in caplog.records if "does nothing" in record.getMessage()] == [
        "the plugin 'again' does nothing: 'gaia_memory' is in this Runner already"
    ]


async def test_an_unavailable_ledger_produces_one_log_entry_and_fails_no_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn is answered; the next one is marked again."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("ok", "ok"))) as host:
        engine = await host.engine()
        presence = engine.turns
        client, presence._client = presence._client, broken_ledger_client(engine)
        events = await host.run_turn("hi")
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        presence._client = client
        await host.run_turn("hi")
        row = await host.ledger_row()

    assert events_text(events) == "ok"
    assert len(errors) == 1
    assert row is not None
    assert row.turn.turn_no == 1


async def test_with_on_unavailable_fail_the_turn_fails(tmp_path: Path) -> None:
    """`memory.on_unavailable: fail`."""
    config = {"memory": {"on_unavailable": "fail"}}
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("ok")), config=config) as host:
        engine = await host.engine()
        await host.source.load_config()
        engine.turns._client = broken_ledger_client(engine)
        with pytest.raises(RuntimeError, match="gaia_memory"):
            await host.run_turn("hi")


async def test_with_memory_off_no_turn_is_marked(tmp_path: Path) -> None:
    """The plugin is inert."""
    async with open_plugin_host(
        tmp_path, build_agent(ScriptedLlm("ok")), config={"memory": {"enabled": False}}
    ) as host:
        events = await host.run_turn("hi")
        row = await host.ledger_row()

    assert events_text(events) == "ok"
    assert row is None


async def test_the_hosts_sessions_become_the_apps_transcript(tmp_path: Path) -> None:
    """A sweep learns conversations of a Runner that knows nothing about memory."""
    extractor = ScriptedExtractor(["moved to Berlin"])
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("ok", "ok"))) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        await host.run_turn("I moved to Berlin")
        report = await engine.sweep(force=True)
        await host.run_turn("hi")
        facts = await engine.memory.facts(SCOPE)
        session = await host.load_session()

    assert report.consolidated == 1
    assert [fact.text for fact in facts] == ["moved to Berlin"]
    assert session is not None


async def test_a_plugin_without_a_configuration_uses_that_of_the_memory_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One configuration for the whole Runner."""
    monkeypatch.delenv("GAIA_HOME")
    config = {"home": str(tmp_path / "elsewhere")}
    service = Mem0MemoryService(config=config)
    sessions = InMemorySessionService()
    app = App(name=APP, root_agent=build_agent(ScriptedLlm()), plugins=[MemoryPlugin()])
    async with Runner(app=app, session_service=sessions, memory_service=service, auto_create_session=True) as runner:
        async for _ in runner.run_async(
            user_id=USER, session_id=SESSION, new_message=user_content("/remember I like teal")
        ):
            pass
        engine = await service.source.engine()
        facts = await engine.memory.facts(SCOPE)

    assert [fact.text for fact in facts] == ["I like teal"]


@pytest.mark.parametrize("kind", ["database", "sqlite"])
async def test_a_clear_between_load_and_turn_does_not_reach_the_user(tmp_path: Path, kind: str) -> None:
    """The loaded session predates the clear: it is reloaded in place, marker included."""
    model = ScriptedLlm("one", "two", "three")
    async with open_plugin_host(tmp_path, build_agent(model), config={"sessions": {"clear": "rewind"}}) as host:
        engine = await host.engine()
        set_extractor(engine, ScriptedExtractor(default=[]))
        if kind == "sqlite":
            host.runner.session_service = SqliteSessionService(str(tmp_path / "sqlite.db"))
        await host.run_turn("I moved to Berlin")
        load = host.runner.session_service.get_session
        interrupted = False

        async def load_and_clear(**arguments: Any) -> Session | None:
            nonlocal interrupted
            session = await load(**arguments)
            if not interrupted:
                interrupted = True
                await engine.consolidate(KEY)
            return session

        host.runner.session_service.get_session = load_and_clear  # type: ignore[method-assign]
        events = await host.run_turn("hello again")
        await host.run_turn("and again")

    assert events_text(events) == "two"
    assert contents_text(model.requests[1]) == "hello again"
    assert contents_text(model.requests[2]) == "hello again\ntwo\nand again"


def test_adk_still_keeps_the_marker_that_a_reload_copies() -> None:
    """It is private; this test detects an ADK release that renames it."""
    session = Session(id="s", app_name="a", user_id="u")

    assert session._storage_update_marker is None


async def test_closing_is_quick_and_a_closed_plugin_reopens(tmp_path: Path) -> None:
    """A closed plugin opens its engine at the next hook."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("ok", "ok"))) as host:
        await host.run_turn("hi")
        await asyncio.wait_for(host.plugin.close(), 60)
        events = await host.run_turn("hi")

    assert events_text(events) == "ok"
