"""GaiaRunner: a turn loads only the events it replays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.session import Session
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from gaia_memory.adk.plugins.window_plugin import SessionWindowPlugin
from gaia_memory.adk.runner import GaiaRunner
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.models import LedgerRow, SessionKey, WindowAnchor
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.adk_runner import (
    APP,
    SESSION,
    USER,
    echo_model,
    function_response,
    load_session,
    part_kinds,
    run_turn,
    sent_texts,
    user_texts,
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


def runner_of(
    engine: Engine, sessions: CountingSessions, model: ScriptedLlm, *tools: Any, window_turns: int = 6, **app: Any
) -> GaiaRunner:
    root = LlmAgent(name="root", model=model, tools=list(tools))
    plugin = SessionWindowPlugin(window_turns=window_turns)
    return GaiaRunner(
        app=App(name=APP, root_agent=root, plugins=[plugin], **app), session_service=sessions, engine=engine
    )


def said(first: int, last: int) -> list[str]:
    """Return the texts of turns `first` to `last`, each with its reply except the last."""
    return [text for n in range(first, last + 1) for text in (f"t{n}", f"re t{n}")][:-1]


async def test_each_turn_loads_only_the_window_and_replays_it_like_a_full_load(
    engine: Engine, sessions: CountingSessions
):
    """Over many turns the load stays bounded, and the replay is cut at the same absolute turns."""
    model = echo_model()
    runner = runner_of(engine, sessions, model)
    for n in range(1, 31):
        await run_turn(runner, f"t{n}")

    # A third of six: the replay begins behind turns 2, 4, 6 and so on, with five or six turns.
    assert [sent_texts(request) for request in model.requests] == [
        said(max(1, 2 * ((n - 5) // 2) + 1) if n > 6 else 1, n) for n in range(1, 31)
    ]
    assert max(sessions.loads) <= 2 * 7
    assert len((await load_session(sessions)).events) == 60


async def test_a_new_runner_continues_from_the_stored_start_of_the_window(engine: Engine, sessions: CountingSessions):
    """The start is stored in the ledger, not in the process."""
    first = runner_of(engine, sessions, echo_model())
    for n in range(1, 12):
        await run_turn(first, f"t{n}")
    sessions.loads.clear()
    model = echo_model()
    await run_turn(runner_of(engine, sessions, model), "t12")

    assert sent_texts(model.requests[-1]) == said(7, 12)
    assert sessions.loads == [10]


async def test_a_response_to_a_call_older_than_the_window_is_accepted(engine: Engine, sessions: CountingSessions):
    """For a message that answers a call, the whole session is loaded."""

    def job() -> dict[str, str]:
        """Start a job."""
        return {"status": "pending"}

    model = ScriptedLlm(call("job"), default="ok")
    runner = runner_of(engine, sessions, model, LongRunningFunctionTool(job))
    events = await run_turn(runner, "start")
    [call_id] = [found.id for event in events for found in event.get_function_calls()]
    for n in range(12):
        await run_turn(runner, f"t{n}")
    before = model.requests[-1]
    await run_turn(runner, types.Content(role="user", parts=[function_response("job", call_id, status="half done")]))
    for n in range(12, 24):
        await run_turn(runner, f"t{n}")
    await run_turn(runner, types.Content(role="user", parts=[function_response("job", call_id, status="ready")]))

    assert part_kinds(before)[:3] == ["start", "call", "response"]
    assert "t0" not in part_kinds(before)
    assert "ready" in str(model.requests[-1].contents)


async def test_the_callers_own_session_config_is_used(engine: Engine, sessions: CountingSessions):
    """A `get_session_config` of the caller is used unchanged, and its RunConfig is not modified."""
    model = echo_model()
    runner = runner_of(engine, sessions, model)
    for n in range(4):
        await run_turn(runner, f"t{n}")
    chosen = RunConfig(get_session_config=GetSessionConfig(num_recent_events=2))
    await run_turn(runner, "t4", run_config=chosen)
    plain = RunConfig()
    await run_turn(runner, "t5", run_config=plain)

    assert sent_texts(model.requests[-2]) == ["t3", "re t3", "t4"]
    assert plain.get_session_config is None


async def test_a_resumed_invocation_loads_the_whole_session(engine: Engine, sessions: CountingSessions):
    """Its earlier events may be older than the window."""
    runner = runner_of(engine, sessions, echo_model())
    for n in range(12):
        await run_turn(runner, f"t{n}")
    first = (await load_session(sessions)).events[0].invocation_id
    sessions.loads.clear()
    await run_turn(runner, "again", invocation_id=first)

    assert sessions.loads == [24]


async def test_an_app_with_compaction_loads_the_whole_session(engine: Engine, sessions: CountingSessions):
    """ADK counts the turns to compact in the loaded session."""
    compaction = EventsCompactionConfig(compaction_interval=100, overlap_size=1)
    runner = runner_of(engine, sessions, echo_model(), events_compaction_config=compaction)
    for n in range(12):
        await run_turn(runner, f"t{n}")

    assert sessions.loads[-1] == 22


async def test_a_rewind_beyond_the_window_brings_earlier_turns_back(engine: Engine, sessions: CountingSessions):
    """After a rewind to before the window, the next load reaches further back."""
    model = echo_model()
    runner = runner_of(engine, sessions, model)
    for n in range(1, 16):
        await run_turn(runner, f"t{n}")
    fifth = (await load_session(sessions)).events[8].invocation_id
    await runner.rewind_async(user_id=USER, session_id=SESSION, rewind_before_invocation_id=fifth)
    await run_turn(runner, "t99")

    assert user_texts(model.requests[-1]) == ["t1", "t2", "t3", "t4", "t99"]


@pytest.mark.acceptance("S14")
@pytest.mark.parametrize(("before", "after", "first"), [(3, 9, 4), (3, 30, 1), (9, 3, 10), (30, 29, 1), (12, 3, 10)])
async def test_a_changed_window_applies_from_the_next_turn(
    engine: Engine, sessions: CountingSessions, before: int, after: int, first: int
):
    """A larger one brings earlier turns back, a smaller one cuts at once; then the load is bounded again."""
    for n in range(1, 12):
        await run_turn(runner_of(engine, sessions, echo_model(), window_turns=before), f"t{n}")
    model = echo_model()
    runner = runner_of(engine, sessions, model, window_turns=after)
    await run_turn(runner, "t12")
    sessions.loads.clear()
    await run_turn(runner, "t13")

    assert sent_texts(model.requests[0]) == said(first, 12)
    assert len(sessions.loads) == 1
    assert sessions.loads[0] <= 2 * (after + max(1, after // 3))


async def test_a_rewind_by_another_runner_brings_earlier_turns_back(engine: Engine, sessions: CountingSessions):
    """The rewound turns are gone, and those before them are in the window again."""
    for n in range(1, 16):
        await run_turn(runner_of(engine, sessions, echo_model()), f"t{n}")
    fifth = (await load_session(sessions)).events[8].invocation_id
    others = Runner(app=App(name=APP, root_agent=LlmAgent(name="root", model=echo_model())), session_service=sessions)
    await others.rewind_async(user_id=USER, session_id=SESSION, rewind_before_invocation_id=fifth)
    model = echo_model()
    runner = runner_of(engine, sessions, model)
    for n in range(5, 9):
        await run_turn(runner, f"t{n}")

    assert sent_texts(model.requests[0]) == said(1, 5)
    assert sent_texts(model.requests[-1]) == said(3, 8)


async def test_a_session_recreated_under_the_same_id_starts_at_its_own_first_turn(
    engine: Engine, sessions: CountingSessions
):
    """The ledger does not learn of the deletion, and nothing of the old session comes back."""

    def job() -> dict[str, str]:
        """Start a job."""
        return {"status": "pending"}

    model = ScriptedLlm(call("job"), default=lambda request: f"re {request.contents[-1].parts[-1].text}")
    runner = runner_of(engine, sessions, model, LongRunningFunctionTool(job))
    await run_turn(runner, "start")
    for n in range(1, 10):
        await run_turn(runner, f"t{n}")
    assert "start" in sent_texts(model.requests[-1])
    await sessions.delete_session(app_name=APP, user_id=USER, session_id=SESSION)
    for n in range(1, 10):
        await run_turn(runner, f"t{n}")
        assert sent_texts(model.requests[-1]) == said(max(1, 2 * ((n - 5) // 2) + 1) if n > 6 else 1, n)


async def test_an_unanswered_call_from_the_beginning_is_replayed_until_it_is_answered(
    engine: Engine, sessions: CountingSessions
):
    """Its turn is replayed without what lies between it and the window, and its answer finds it."""

    def job() -> dict[str, str]:
        """Start a job."""
        return {"status": "pending"}

    model = ScriptedLlm(call("job"), default=lambda request: f"re {request.contents[-1].parts[-1].text}")
    runner = runner_of(engine, sessions, model, LongRunningFunctionTool(job))
    events = await run_turn(runner, "start")
    [call_id] = [found.id for event in events for found in event.get_function_calls()]
    for n in range(2, 21):
        await run_turn(runner, f"t{n}")
    waiting = model.requests[-1]
    another = runner_of(engine, sessions, model, LongRunningFunctionTool(job))
    await run_turn(another, "t21")
    after_a_restart = model.requests[-1]
    await run_turn(another, types.Content(role="user", parts=[function_response("job", call_id, status="ready")]))
    answering = model.requests[-1]
    for n in range(22, 29):
        await run_turn(another, f"t{n}")

    assert part_kinds(waiting)[:3] == ["start", "call", "response"]
    assert sent_texts(waiting)[2:] == said(15, 20)
    assert part_kinds(after_a_restart)[:3] == ["start", "call", "response"]
    assert sent_texts(after_a_restart)[2:] == said(17, 21)
    assert "ready" in str(answering.contents)
    assert "start" not in sent_texts(model.requests[-1])
    assert sessions.loads[-1] <= 2 * 8


async def test_turns_with_equal_timestamps_are_loaded_together(engine: Engine, sessions: CountingSessions):
    """If timestamps are equal, the load begins earlier: the database would not keep the order."""
    runner = runner_of(engine, sessions, echo_model(), window_turns=1)
    await run_turn(runner, "t1")
    session = await load_session(sessions)
    at = session.events[-1].timestamp
    for n in range(4):
        event = Event(
            id=f"zz{n}", invocation_id=f"i{n}", author="user", content=types.UserContent(f"s{n}"), timestamp=at
        )
        await sessions.append_event(session, event)
    model = echo_model()
    await run_turn(runner_of(engine, sessions, model, window_turns=2), "t2")
    row = await engine.conversations.row(KEY)
    await run_turn(runner_of(engine, sessions, model, window_turns=2), "t3")

    assert sent_texts(model.requests[0]) == ["s3", "t2"]
    assert sent_texts(model.requests[1]) == ["t2", "re t2", "t3"]
    assert row is not None
    assert row.session.anchor is None or row.session.anchor.turn_no == 0


async def test_a_turn_marks_the_session_as_in_use_until_it_ends(engine: Engine, sessions: CountingSessions):
    """A session loaded for a turn cannot be cleared during it."""
    rows: list[LedgerRow | None] = []

    async def look(_: LlmRequest) -> str:
        rows.append(await engine.conversations.row(KEY))
        return "ok"

    await run_turn(runner_of(engine, sessions, ScriptedLlm(look)), "hi")
    rows.append(await engine.conversations.row(KEY))
    during, after = rows

    assert during is not None
    assert during.turn.active_until is not None
    assert during.turn.active_owner is not None
    assert during.turn.active_owner.startswith(f"{engine.owner}/")
    assert after is not None
    assert (after.turn.active_until, after.turn.active_owner) == (None, None)


async def test_a_turn_continues_when_the_ledger_is_unavailable(
    engine: Engine, sessions: CountingSessions, monkeypatch: pytest.MonkeyPatch
):
    """Without the memory database the whole session is loaded, and replayed within the window."""
    model = echo_model()
    runner = runner_of(engine, sessions, model)

    async def fails(*_: object) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(engine.turns, "acquire", fails)
    monkeypatch.setattr(type(engine.ledger), "set_anchor", fails)
    for n in range(1, 9):
        await run_turn(runner, f"t{n}")

    assert sent_texts(model.requests[-1]) == said(3, 8)
    assert sessions.loads[-1] == 14


async def test_the_start_of_the_window_is_written_only_when_it_moves(
    engine: Engine, sessions: CountingSessions, monkeypatch: pytest.MonkeyPatch
):
    """Otherwise a turn writes nothing about the window."""
    written: list[int] = []
    ledger = type(engine.ledger)
    remember = ledger.set_anchor

    async def counting(self: Any, tx: Any, key: SessionKey, anchor: WindowAnchor) -> None:
        written.append(anchor.turn_no)
        await remember(self, tx, key, anchor)

    monkeypatch.setattr(ledger, "set_anchor", counting)
    runner = runner_of(engine, sessions, echo_model())
    for n in range(1, 13):
        await run_turn(runner, f"t{n}")

    assert written == [3, 5, 7]
