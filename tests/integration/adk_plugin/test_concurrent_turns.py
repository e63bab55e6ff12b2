"""Concurrent turns in one session of a third-party Runner, and turns that end without calling a hook."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from gaia_memory.engine import Engine
from gaia_memory.models import LedgerRow, SessionKey, TurnRequest
from gaia_memory.sessions import turn_presence
from gaia_memory.testing import Gate, ScriptedExtractor, ScriptedLlm, call
from support.host_matrix import wait_until
from support.plugin_host import (
    KEY,
    PluginHost,
    begin_turn,
    build_agent,
    contents_text,
    events_text,
    open_plugin_host,
    set_extractor,
)

SOON = 30.0
"""Far less than a turn waits for another one that goes on."""


class Relay(BaseAgent):
    """A custom agent that runs another agent, in the task of its caller."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async for event in self.sub_agents[0].run_async(ctx):
            yield event


class Waiting:
    """Counts how often the turns of an engine check whether they may begin."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tries = 0
        begin = engine.ledger.begin_turn

        async def counting(*arguments: Any, **named: Any) -> Any:
            self.tries += 1
            return await begin(*arguments, **named)

        monkeypatch.setattr(engine.ledger, "begin_turn", counting)

    async def for_more(self, times: int) -> None:
        """Return after this many further checks: the earlier ones failed, or there would be no further ones."""
        wanted = self.tries + times
        await wait_until(lambda: self.tries >= wanted)


class Elsewhere(PluginHost):
    """A second process on the same databases: a different configuration gets its own engine."""

    def __init__(self, home: Path, agent: Any) -> None:
        super().__init__(home, agent, config={"memory": {"recall_limit": 7}})


@pytest.mark.parametrize("kind", ["database", "sqlite"])
async def test_two_concurrent_messages_are_answered_one_after_the_other(tmp_path: Path, kind: str) -> None:
    """ADK alone refuses the later one; the second request contains the first exchange."""
    model = ScriptedLlm(default="ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        if kind == "sqlite":
            host.runner.session_service = SqliteSessionService(str(tmp_path / "sqlite.db"))
        await host.run_turn("hello")
        both = await asyncio.gather(host.run_turn("one"), host.run_turn("two"))

    assert [events_text(events) for events in both] == ["ok", "ok"]
    assert len(contents_text(model.requests[2]).splitlines()) == 5


async def test_a_turn_waits_for_a_turn_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It then replays that turn: the session it had loaded before is brought up to date."""
    gate = Gate()

    async def slow(_: LlmRequest) -> str:
        await gate.wait_until_open()
        return "first"

    model = ScriptedLlm("second")
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("begun", slow))) as host:
        other = Elsewhere(tmp_path, build_agent(model))
        try:
            await host.run_turn("hello")
            gate.shut()
            first = asyncio.create_task(host.run_turn("one"))
            await gate.wait_for_waiter()
            waiting = Waiting(await other.engine(), monkeypatch)
            second = asyncio.create_task(other.run_turn("two"))
            await waiting.for_more(3)
            row = await host.ledger_row()
            gate.open()
            answers = [events_text(await turn) for turn in (first, second)]
        finally:
            await other.close()

    assert answers == ["first", "second"]
    assert row is not None
    assert row.session.is_foreign
    assert contents_text(model.requests[0]).splitlines() == ["hello", "begun", "one", "first", "two"]


@pytest.mark.parametrize("shape", ["agent", "own agent"])
async def test_a_cancelled_turn_delays_the_next_one_only_briefly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    """ADK calls no hook when a turn is cancelled."""
    monkeypatch.setattr(turn_presence, "TASK_GAP_SECONDS", 0.05)
    monkeypatch.setattr(turn_presence, "HEARTBEAT_TIMEOUT_SECONDS", 0.5)
    gate = Gate()
    gate.shut()

    async def hang(_: LlmRequest) -> str:
        await gate.wait_until_open()
        return ""

    agent = build_agent(ScriptedLlm(hang, "ok"))
    root = agent if shape == "agent" else Relay(name="relay", sub_agents=[agent])
    async with open_plugin_host(tmp_path, root) as host:
        turn = asyncio.create_task(host.run_turn("one"))
        await gate.wait_for_waiter()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        async with asyncio.timeout(SOON):
            events = await host.run_turn("two")
        row = await host.ledger_row()

    assert events_text(events) == "ok"
    assert row is not None
    assert row.turn.active_until is None


async def test_a_turn_mark_that_is_not_renewed_expires_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on another host died during a turn: a missing renewal is all that shows it."""
    monkeypatch.setattr(turn_presence, "RENEWAL_TIMEOUT_SECONDS", 0.2)
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("ok"))) as host:
        engine = await host.engine()
        async with engine.database.transaction() as tx:
            now = engine.clock.now().timestamp()
            await engine.ledger.begin_turn(
                tx, KEY, TurnRequest(owner="elsewhere:1:1.00/a/b"), now=now, lease_seconds=900
            )
        async with asyncio.timeout(SOON):
            events = await host.run_turn("hi")
        row = await host.ledger_row()

    assert events_text(events) == "ok"
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (2, None)


@pytest.mark.parametrize("kind", ["memory", "database"])
async def test_a_nested_run_in_the_same_session_does_not_wait_for_its_outer_turn(tmp_path: Path, kind: str) -> None:
    """The outer turn waits for it, so waiting for the outer turn would never end."""
    inner: list[str] = []

    async def ask() -> str:
        """Run a turn in the same session."""
        inner.append(events_text(await host.run_turn("inner")))
        return "asked"

    model = ScriptedLlm(call("ask"), "inner answer", "outer answer")
    async with open_plugin_host(tmp_path, build_agent(model, tools=[ask])) as host:
        if kind == "memory":
            host.runner.session_service = InMemorySessionService()
        async with asyncio.timeout(SOON):
            outer = await asyncio.gather(host.run_turn("outer"), return_exceptions=True)
        row = await host.ledger_row()

    assert inner == ["inner answer"]
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (2, None)
    if kind == "memory":
        assert events_text(outer[0]) == "outer answer"  # type: ignore[arg-type]


async def test_a_turn_during_a_resets_learning_is_answered_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reset keeps its session until its reply is stored; the turn begins afterwards, in the remaining session."""
    extractor = ScriptedExtractor(default=[])
    model = ScriptedLlm(default="ok")
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok"))) as host:
        other = Elsewhere(tmp_path, build_agent(model))
        try:
            set_extractor(await host.engine(), extractor)
            await host.run_turn("I moved to Berlin")
            extractor.gate.shut()
            reset = asyncio.create_task(host.run_turn("/reset"))
            await extractor.gate.wait_for_waiter()
            waiting = Waiting(await other.engine(), monkeypatch)
            late = asyncio.create_task(other.run_turn("hello again"))
            await waiting.for_more(3)
            extractor.gate.open()
            answers = [events_text(await each) for each in (reset, late)]
        finally:
            await other.close()

    assert "fresh start" in answers[0]
    assert answers[1] == "ok"
    assert contents_text(model.requests[0]) == "hello again"


async def test_with_memory_off_a_turn_waits_for_a_clear_in_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory was switched off while another process cleared; the turn leaves no mark."""
    async with open_plugin_host(
        tmp_path, build_agent(ScriptedLlm("ok")), config={"memory": {"enabled": False}}
    ) as host:
        engine = await host.engine()
        async with engine.database.transaction() as tx:
            now = engine.clock.now().timestamp()
            await engine.ledger.reserve_turn(tx, KEY, TurnRequest(), now=now, lease_seconds=0)
            await engine.ledger.claim(tx, KEY, "elsewhere:1:1", now=now, lease_seconds=30)
            assert await engine.ledger.begin_clearing(tx, KEY, "elsewhere:1:1", turn_no=0, now=now, seconds=5)
        looks = 0
        row_of = engine.turns._client.row

        async def looking(key: SessionKey) -> LedgerRow | None:
            nonlocal looks
            looks += 1
            return await row_of(key)

        monkeypatch.setattr(engine.turns._client, "row", looking)
        turn = asyncio.create_task(host.run_turn("hi"))
        await wait_until(lambda: looks > 2)
        session = await host.load_session()
        async with engine.database.transaction() as tx:
            await engine.ledger.end_clearing(tx, KEY, "elsewhere:1:1", cleared_at=now)
        events = await turn
        row = await host.ledger_row()

    assert session is not None
    assert session.events == []
    assert events_text(events) == "ok"
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (0, None)


@pytest.mark.parametrize("leaves", [0, 1], ids=["the first ends first", "the second ends first"])
async def test_two_turns_sharing_a_session_stay_marked_until_both_end(leaves: int, tmp_path: Path) -> None:
    """The in-memory service allows both at once: nothing is learned or cleared until both have ended."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok"))) as host:
        engine = await host.engine()
        set_extractor(engine, ScriptedExtractor(default=[]))
        await host.run_turn("one")
        talking = [await begin_turn(engine, KEY), await begin_turn(engine, KEY)]
        await engine.turns.release(talking.pop(leaves))
        during = await engine.sweep(force=True)
        await engine.turns.release(talking.pop())
        after = await engine.sweep(force=True)

    assert (during.consolidated, during.skipped) == (0, 1)
    assert (after.consolidated, after.skipped) == (1, 0)
