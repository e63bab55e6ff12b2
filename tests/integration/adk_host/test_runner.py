"""GaiaRunner: a turn loads what it replays, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.session import Session
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from gaia_memory.adk.runner import GaiaRunner
from gaia_memory.adk.window_plugin import SessionWindowPlugin
from gaia_memory.config.load import load
from gaia_memory.engine import Engine
from gaia_memory.models import Anchor, SessionKey
from gaia_memory.testing import ScriptedLlm, call
from support.adk_host import (
    APP,
    SESSION,
    USER,
    echo,
    function_response,
    own_texts,
    say,
    sent_kinds,
    sent_texts,
    stored,
)

KEY = SessionKey(APP, USER, SESSION)


class CountingSessions(DatabaseSessionService):
    """Counts the events of each load."""

    def __init__(self, engine: Any) -> None:
        super().__init__(db_engine=engine)
        self.loads: list[int] = []

    async def get_session(self, **wanted: Any) -> Session | None:
        session = await super().get_session(**wanted)
        self.loads.append(len(session.events) if session else 0)
        return session


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    settings = {"app": APP, "sessions": {"window_turns": 6}}
    opened = await Engine.open(await asyncio.to_thread(load, settings, home=tmp_path / "gaia"))
    yield opened
    await opened.close()


@pytest.fixture
def sessions(engine: Engine) -> CountingSessions:
    return CountingSessions(engine.sessions_engine())


def runner_of(engine: Engine, sessions: CountingSessions, model: ScriptedLlm, *tools: Any, **app: Any) -> GaiaRunner:
    root = LlmAgent(name="root", model=model, tools=list(tools))
    plugin = SessionWindowPlugin(window_turns=6)
    return GaiaRunner(
        app=App(name=APP, root_agent=root, plugins=[plugin], **app), session_service=sessions, engine=engine
    )


def said(first: int, last: int) -> list[str]:
    """The texts of turns `first` to `last`, each with its reply but the last."""
    return [text for n in range(first, last + 1) for text in (f"t{n}", f"re t{n}")][:-1]


async def test_each_turn_loads_the_window_and_replays_what_a_full_load_would(
    engine: Engine, sessions: CountingSessions
):
    """Over many turns the load stays bounded, and the replay is cut at the same absolute turns."""
    model = echo()
    runner = runner_of(engine, sessions, model)
    for n in range(1, 31):
        await say(runner, f"t{n}")

    # A third of six: the replay begins behind turns 2, 4, 6 and so on, with five or six turns.
    assert [sent_texts(request) for request in model.requests] == [
        said(max(1, 2 * ((n - 5) // 2) + 1) if n > 6 else 1, n) for n in range(1, 31)
    ]
    assert max(sessions.loads) <= 2 * 7
    assert len((await stored(sessions)).events) == 60


async def test_a_new_runner_goes_on_where_the_window_began(engine: Engine, sessions: CountingSessions):
    """The place is kept in the ledger, not in the process."""
    first = runner_of(engine, sessions, echo())
    for n in range(1, 12):
        await say(first, f"t{n}")
    sessions.loads.clear()
    model = echo()
    await say(runner_of(engine, sessions, model), "t12")

    assert sent_texts(model.requests[-1]) == said(7, 12)
    assert sessions.loads == [10]


async def test_an_answer_to_a_call_older_than_the_window_is_accepted(engine: Engine, sessions: CountingSessions):
    """A message that answers a call is given the whole session to find it in."""

    def job() -> dict[str, str]:
        """Start a job."""
        return {"status": "pending"}

    model = ScriptedLlm(call("job"), default="ok")
    runner = runner_of(engine, sessions, model, LongRunningFunctionTool(job))
    events = await say(runner, "start")
    [call_id] = [found.id for event in events for found in event.get_function_calls()]
    for n in range(12):
        await say(runner, f"t{n}")
    before = model.requests[-1]
    await say(runner, types.Content(role="user", parts=[function_response("job", call_id, status="half done")]))
    for n in range(12, 24):
        await say(runner, f"t{n}")
    await say(runner, types.Content(role="user", parts=[function_response("job", call_id, status="ready")]))

    assert sent_kinds(before)[:3] == ["start", "call", "response"]
    assert "t0" not in sent_kinds(before)
    assert "ready" in str(model.requests[-1].contents)


async def test_what_the_caller_chose_to_load_is_loaded(engine: Engine, sessions: CountingSessions):
    """A `get_session_config` of the caller's own is used as it is, and its RunConfig is not changed."""
    model = echo()
    runner = runner_of(engine, sessions, model)
    for n in range(4):
        await say(runner, f"t{n}")
    chosen = RunConfig(get_session_config=GetSessionConfig(num_recent_events=2))
    await say(runner, "t4", run_config=chosen)
    plain = RunConfig()
    await say(runner, "t5", run_config=plain)

    assert sent_texts(model.requests[-2]) == ["t3", "re t3", "t4"]
    assert plain.get_session_config is None


async def test_an_invocation_that_is_resumed_is_given_the_whole_session(engine: Engine, sessions: CountingSessions):
    """What it has to go on with may be older than the window."""
    runner = runner_of(engine, sessions, echo())
    for n in range(12):
        await say(runner, f"t{n}")
    first = (await stored(sessions)).events[0].invocation_id
    sessions.loads.clear()
    await say(runner, "again", invocation_id=first)

    assert sessions.loads == [24]


async def test_an_app_that_compacts_is_given_the_whole_session(engine: Engine, sessions: CountingSessions):
    """ADK counts the turns it compacts in the session that was loaded."""
    compaction = EventsCompactionConfig(compaction_interval=100, overlap_size=1)
    runner = runner_of(engine, sessions, echo(), events_compaction_config=compaction)
    for n in range(12):
        await say(runner, f"t{n}")

    assert sessions.loads[-1] == 22


async def test_a_rewind_far_back_brings_the_turns_before_it_into_the_window_again(
    engine: Engine, sessions: CountingSessions
):
    """After a rewind to before the window the next load looks further back."""
    model = echo()
    runner = runner_of(engine, sessions, model)
    for n in range(1, 16):
        await say(runner, f"t{n}")
    fifth = (await stored(sessions)).events[8].invocation_id
    await runner.rewind_async(user_id=USER, session_id=SESSION, rewind_before_invocation_id=fifth)
    await say(runner, "t99")

    assert own_texts(model.requests[-1]) == ["t1", "t2", "t3", "t4", "t99"]


async def test_a_turn_marks_the_session_as_in_use_and_a_command_does_not(engine: Engine, sessions: CountingSessions):
    """What is loaded for a turn cannot be cleared under it."""
    runner = runner_of(engine, sessions, echo())
    await say(runner, "/memory")
    after_command = await engine.marks.row(KEY)
    await say(runner, "hi")
    after_turn = await engine.marks.row(KEY)

    assert after_command is None
    assert after_turn is not None
    assert after_turn.active_until is not None


async def test_a_turn_goes_on_when_the_ledger_cannot_be_asked(
    engine: Engine, sessions: CountingSessions, monkeypatch: pytest.MonkeyPatch
):
    """Without the memory database the whole session is loaded, and replayed within the window."""
    model = echo()
    runner = runner_of(engine, sessions, model)

    async def fails(*_: object) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(engine.marks, "hold", fails)
    monkeypatch.setattr(type(engine.ledger), "anchor", fails)
    for n in range(1, 9):
        await say(runner, f"t{n}")

    assert sent_texts(model.requests[-1]) == said(3, 8)
    assert sessions.loads[-1] == 14


async def test_the_place_is_written_only_when_the_window_moves(
    engine: Engine, sessions: CountingSessions, monkeypatch: pytest.MonkeyPatch
):
    """Between two cuts a turn writes nothing about the window."""
    written: list[int] = []
    ledger = type(engine.ledger)
    remember = ledger.anchor

    async def counting(self: Any, tx: Any, key: SessionKey, anchor: Anchor) -> None:
        written.append(anchor.turn_no)
        await remember(self, tx, key, anchor)

    monkeypatch.setattr(ledger, "anchor", counting)
    runner = runner_of(engine, sessions, echo())
    for n in range(1, 13):
        await say(runner, f"t{n}")

    assert written == [3, 5, 7]
