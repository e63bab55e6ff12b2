"""`Runner.run`: a new event loop in a new thread for every turn, sequentially and concurrently."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy.ext.asyncio import AsyncEngine

from gaia_memory import MemoryPlugin, Scope, SessionWindowPlugin, engine_registry, open_memory
from gaia_memory.adk.plugins import memory_plugin
from gaia_memory.database.connections import ConnectionRegistry
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.plain_runner import (
    APP,
    build_runner,
    count_open_engines,
    fact_texts_in,
    gaia_threads,
    is_store_unowned,
    run_turn,
    run_turn_sync,
    wait_until_sync,
)
from support.plugin_host import TOOLS, offered_tools, request_text

AT_ONCE = {"sessions": {"idle_consolidate_minutes": 0.001}}
SERVICES = ["memory", "sqlite", "database"]


def sessions_of(kind: str, folder: Path) -> BaseSessionService:
    if kind == "memory":
        return InMemorySessionService()
    if kind == "sqlite":
        return SqliteSessionService(str(folder / "sqlite.db"))
    return DatabaseSessionService(f"sqlite+aiosqlite:///{folder / 'host.db'}")


class Heard:
    """Python's reports of unclosed resources and of errors in threads."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.warned: list[warnings.WarningMessage] = []

    def all(self) -> list[str]:
        """Return the reports after garbage collection."""
        gc.collect()
        left = [str(warning.message) for warning in self.warned if issubclass(warning.category, ResourceWarning)]
        return self.complaints + left


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """Collect the reports while the test runs."""
    heard = Heard()
    monkeypatch.setattr("sys.unraisablehook", lambda failed: heard.complaints.append(repr(failed.exc_value)))
    monkeypatch.setattr(threading, "excepthook", lambda failed: heard.complaints.append(repr(failed.exc_value)))
    # What tests before left, and then what that held, is not this one's.
    gc.collect()
    gc.collect()
    heard.complaints.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        heard.warned = warned
        yield heard
        gc.collect()


class Host:
    """A script with a Runner, and the home of its memory."""

    def __init__(self, folder: Path, kind: str, model: ScriptedLlm | None = None, **settings: Any) -> None:
        self.home = folder / "data"
        self.model = model or ScriptedLlm(default="ok")
        self.config = {"home": str(self.home), **settings}
        plugins = [SessionWindowPlugin(config=self.config), MemoryPlugin(config=self.config)]
        self.sessions = sessions_of(kind, folder)
        self.runner: Runner = build_runner(*plugins, model=self.model, sessions=self.sessions)

    def say(self, text: str, **whose: str) -> str:
        return run_turn_sync(self.runner, text, **whose)

    def close(self) -> None:
        """Close it like a script, in yet another loop; ADK's pool keeps a connection of a loop that has ended."""

        async def closed() -> None:
            await self.runner.close()
            if isinstance(self.sessions, DatabaseSessionService):
                await self.sessions.close()

        asyncio.run(closed())


@pytest.mark.parametrize("kind", SERVICES)
def test_consecutive_turns_work_and_leave_nothing_behind(tmp_path: Path, kind: str, heard: Heard) -> None:
    """Turns, commands, tools and the profile; between two turns nothing is open and the store has no owner."""
    model = ScriptedLlm("one", "two", call("remember", fact="likes figs"), "three", default="ok")
    host = Host(tmp_path, kind, model)
    threads = gaia_threads()
    answers, open_between = [], []
    for text in ["hi", "hi again", "I like figs", "/remember I like plums", "/memory", "what now?"]:
        answers.append(host.say(text))
        open_between.append(count_open_engines())
        wait_until_sync(lambda: is_store_unowned(host.home))
    other_session = host.say("hello", session="s2")
    # The database of ADK's own session service keeps its one connection.
    kept = 1 if kind == "database" else 0
    wait_until_sync(lambda: len(gaia_threads() - threads) <= kept)
    host.close()

    assert answers[:3] == ["one", "two", "three"]
    assert answers[3] == "I will remember: I like plums"
    listed = "1. likes figs (saved by the agent)\n2. I like plums\n\nThis conversation waits"
    assert answers[4].startswith(f"I remember 2 facts about you:\n{listed}")
    assert answers[5] == other_session == "ok"
    assert open_between == [0] * 6
    assert offered_tools(model.requests[0]) == TOOLS
    assert "hi again" in request_text(model.requests[2])
    assert "likes figs" in request_text(model.requests[-1])
    if kind != "database":
        # ADK's own pool leaves its connections to the loops that are gone.
        assert heard.all() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVICES)
def test_concurrent_threads_each_get_their_turn(tmp_path: Path, kind: str, heard: Heard) -> None:
    """One plugin object in several loops at once: none waits for another's store or ledger."""
    host = Host(tmp_path, kind)
    host.say("hi", user="first", session="first")

    def talk(number: int) -> tuple[str, str]:
        who = {"user": f"user{number}", "session": f"s{number}"}
        host.say("hi", **who)
        return host.say(f"/remember I like number {number}", **who), host.say("/memory", **who)

    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(talk, range(8)))
    host.close()

    for number, (kept, listed) in enumerate(told):
        assert kept == f"I will remember: I like number {number}"
        assert listed.startswith(f"I remember 1 fact about you:\n1. I like number {number}\n\nThis conversation waits")
    assert count_open_engines() == 0
    wait_until_sync(lambda: is_store_unowned(host.home))
    assert sorted(fact_texts_in(host.home)) == [f"I like number {number}" for number in range(8)]
    if kind != "database":
        # ADK's own pool leaves its connections to the loops that are gone.
        assert heard.all() == []


def test_a_turn_that_fails_or_is_abandoned_leaves_nothing_behind(tmp_path: Path, heard: Heard) -> None:
    """The caller stops reading after the first words, or the model raises."""
    host = Host(tmp_path, "memory", ScriptedLlm("long", RuntimeError("away"), default="ok"))
    threads = gaia_threads()
    events = host.runner.run(user_id="ada", session_id="s1", new_message=say_of("hi"))
    next(events)
    events.close()
    with pytest.raises(RuntimeError, match="away"):
        host.say("hi")
    answer = host.say("hi")
    wait_until_sync(lambda: gaia_threads() <= threads)

    assert answer == "ok"
    assert count_open_engines() == 0
    assert heard.all() == []


def say_of(text: str) -> Any:
    from google.genai import types

    return types.UserContent(text)


def test_messages_from_ended_loops_are_learned_in_a_later_loop_that_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin's first hook makes the sessions readable, and the next sweep learns the idle ones."""
    monkeypatch.setattr(engine_registry, "BACKGROUND_START_DELAY_SECONDS", 0.05)

    async def wait_until_learned(_: Any) -> str:
        async with asyncio.timeout(60):
            while not fact_texts_in(host.home):
                await asyncio.sleep(0.01)
        return "ok"

    host = Host(tmp_path, "memory", ScriptedLlm("nice", default=wait_until_learned), **AT_ONCE)
    host.say("I live in Berlin.")
    before = fact_texts_in(host.home)
    host.say("and now?", session="another")

    assert (before, fact_texts_in(host.home)) == ([], ["I live in Berlin."])


def test_a_second_app_is_swept_after_its_first_turn(tmp_path: Path) -> None:
    """Its sessions became readable long after the engine's first sweep; the next one may be a minute away."""
    config = {"home": str(tmp_path / "data"), **AT_ONCE}
    sessions = InMemorySessionService()
    runners = {app: build_runner(MemoryPlugin(config=config), sessions=sessions, app=app) for app in ("one", "two")}
    run_turn_sync(runners["two"], "I live in Berlin.")

    async def later() -> list[str]:
        async with open_memory(config) as gaia:
            engine = gaia._engine
            await run_turn(runners["one"], "hi")
            await engine.sweep()
            engine._sweep_scheduler.reschedule(4 * 3600)
            assert await gaia.memory.facts(Scope("two", "ada")) == []
            await run_turn(runners["two"], "hi", session="another")
            async with asyncio.timeout(60):
                while not (facts := await gaia.memory.facts(Scope("two", "ada"))):
                    await asyncio.sleep(0.01)
            for runner in runners.values():
                await runner.close()
            return [fact.text for fact in facts]

    assert asyncio.run(later()) == ["I live in Berlin."]


def test_messages_from_ended_loops_are_learned_by_a_process_with_the_same_configuration(tmp_path: Path) -> None:
    """gaia.yaml names the script's app and session database: open_memory, or `gaia sweep`, needs no turn."""
    url = f"sqlite:///{tmp_path / 'host.db'}"
    host = Host(tmp_path, "database", app=APP, sessions={"database_url": url, "clear": "rewind"})
    host.say("I live in Berlin.")
    host.close()

    async def swept() -> tuple[int, list[str]]:
        async with open_memory(host.config) as gaia:
            report = await gaia.sweep(force=True)
            return report.consolidated, [fact.text for fact in await gaia.memory.facts(Scope(APP, "ada"))]

    assert asyncio.run(swept()) == (1, ["I live in Berlin."])
    assert host.say("hello again") == "ok"
    host.close()


def test_status_reports_conversations_that_wait_for_another_process(tmp_path: Path) -> None:
    """Sessions in memory, whose process may be gone: the message makes no false claim."""
    host = Host(tmp_path, "memory")
    host.say("I live in Berlin.")

    async def looked() -> Any:
        async with open_memory(host.config) as gaia:
            return await gaia.memory.status(Scope(APP, "ada"))

    status = asyncio.run(looked())

    assert status.state == "degraded"
    assert "'shop' are pending: this process cannot read their sessions" in status.reason
    assert "sessions.database_url" in status.remedy
    assert [waiting.key.session for waiting in status.pending] == ["s1"]


def test_a_short_turn_opens_no_store_and_runs_no_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Chroma would be opened and closed for every message."""
    monkeypatch.setattr(engine_registry, "BACKGROUND_START_DELAY_SECONDS", 60.0)
    host = Host(tmp_path, "memory")
    started = time.monotonic()
    for _ in range(3):
        host.say("hi")
    assert not (host.home / "store").exists()
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_a_loop_that_ends_during_background_work_logs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    """Statements are cancelled at any point; the log has no traceback, and the turn does not wait for them."""
    threads = gaia_threads()
    end_loops_in_background_work(tmp_path, monkeypatch)
    wait_until_sync(lambda: gaia_threads() <= threads)

    assert heard.all() == []
    assert errors_of(caplog) == []


@pytest.mark.slow
def test_sqlalchemy_still_leaves_a_task_to_a_loop_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once this fails, `ConnectionRegistry.track` need not replace the dialect's `do_terminate`."""
    track = ConnectionRegistry.track

    def track_only(self: ConnectionRegistry, engine: AsyncEngine) -> None:
        track(self, engine)
        del engine.sync_engine.dialect.do_terminate

    monkeypatch.setattr(ConnectionRegistry, "track", track_only)
    end_loops_in_background_work(tmp_path, monkeypatch)

    assert any(error.startswith("Task was destroyed but it is pending!") for error in errors_of(caplog))


def end_loops_in_background_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have 200 turns in loops of their own while memory works behind them."""
    monkeypatch.setattr(engine_registry, "BACKGROUND_START_DELAY_SECONDS", 0.02)
    chance = random.Random(4)

    async def think(_: Any) -> str:
        await asyncio.sleep(chance.random() * 0.05)
        return "ok"

    host = Host(tmp_path, "memory", ScriptedLlm(default=think))
    for number in range(200):
        assert host.say("hi", session=f"s{number % 5}") == "ok"


def errors_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    gc.collect()
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def test_a_turn_in_a_lasting_loop_keeps_the_engine_open(tmp_path: Path) -> None:
    """Unlike with `run`, the next turn finds everything open."""
    host = Host(tmp_path, "memory")

    async def two() -> tuple[Any, Any]:
        plugin = host.runner.plugin_manager.plugins[1]
        assert isinstance(plugin, memory_plugin.MemoryPlugin)
        await run_turn(host.runner, "hi")
        first = await plugin._source.engine()
        await run_turn(host.runner, "hi")
        second = await plugin._source.engine()
        await host.runner.close()
        return first, second

    first, second = asyncio.run(two())
    assert first is second
