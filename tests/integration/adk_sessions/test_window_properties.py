"""Generated conversations through real Runners: the model is sent exactly what the window's rules allow."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import Workflow
from google.genai import types
from hypothesis import strategies as st

from gaia_memory import MemoryPlugin, SessionWindowPlugin, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.adk.runner import GaiaRunner
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.adk_runner import APP, USER, function_response, run_turn, sent_texts
from support.hosts.session_history import append_events
from support.oracles.replay_window_oracle import (
    ConversationGenerator,
    expected_replay,
    expected_tokens,
    step_lists,
    tokens_in,
    unpaired_parts,
)
from support.property_testing import case_counts, run_cases

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def noop() -> str:
    """Do nothing."""
    return "nothing"


def job() -> dict[str, str]:
    """Start a job that is answered later."""
    return {"status": "pending"}


def root_of(kind: str, model: ScriptedLlm) -> Any:
    """Return an agent, or a tree of several."""
    leaves = [LlmAgent(name=name, model=model, tools=[noop]) for name in ("writer", "critic")]
    if kind == "sequence":
        return SequentialAgent(name="root", sub_agents=leaves)
    if kind == "loop":
        return LoopAgent(name="root", sub_agents=leaves, max_iterations=2)
    if kind == "workflow":
        return Workflow(name="root", edges=[("START", LlmAgent(name="writer", model=model, tools=[noop], mode="chat"))])
    sub = LlmAgent(name="sub", model=model, description="helps")
    return LlmAgent(name="root", model=model, tools=[noop, LongRunningFunctionTool(job)], sub_agents=[sub])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Gaia]]:
    """Memory that stays open over all examples, and its event loop."""
    settings = {"app": APP, "home": str(tmp_path_factory.mktemp("gaia")), "memory": {"auto_ingest": False}}
    # ADK warns of each event by an agent that is not in the tree.
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    with asyncio.Runner() as loop:
        memory = open_memory(settings)
        yield loop.run, loop.run(memory.__aenter__())
        loop.run(memory.__aexit__(None, None, None))
    logging.getLogger("google_adk").setLevel(logging.NOTSET)


def told(request: LlmRequest, story: ConversationGenerator, *, window: int, current: str, whole: bool = False) -> None:
    """Assert that a request contains exactly the allowed events, each call with its response."""
    expected = expected_tokens(expected_replay(story, window=window, current=current, whole_invocations=whole))
    waiting = [call.call_id for call in story.open_calls()]
    assert tokens_in(request) == expected
    assert unpaired_parts(request, waiting=waiting) == []


@pytest.mark.filterwarnings("ignore:(Sequential|Loop)Agent is deprecated:DeprecationWarning")
@case_counts(default_cases=20)
@pytest.mark.parametrize("kind", ["agent", "sequence", "loop", "workflow"])
def test_a_model_is_sent_exactly_what_the_rules_allow(kind: str, cases: int, host: tuple[Run, Gaia]) -> None:
    """The newest turns and their dependencies, no rewound events, no commands, in order, every call paired."""
    run, gaia = host
    sessions = InMemorySessionService()
    model = ScriptedLlm(default="ok")
    plugins = {window: SessionWindowPlugin(window_turns=window) for window in range(1, 7)}
    memory = MemoryPlugin(config=gaia._engine.loaded)
    runners = {
        window: Runner(
            app=App(name=APP, root_agent=root_of(kind, model), plugins=[plugins[window], memory]),
            session_service=sessions,
        )
        for window in plugins
    }

    async def turn(steps: list[tuple[str, int]], greeted: bool, window: int) -> None:
        story = ConversationGenerator(with_greeting=greeted)
        session = await sessions.create_session(app_name=APP, user_id=USER, session_id=uuid.uuid4().hex)
        for event in story.generate(steps):
            await sessions.append_event(session, event)
        model.requests.clear()
        said = types.UserContent(story.next_user_text())
        runner = runners[window]
        async for _ in runner.run_async(user_id=USER, session_id=session.id, new_message=said):
            pass
        stored = await sessions.get_session(app_name=APP, user_id=USER, session_id=session.id)
        await sessions.delete_session(app_name=APP, user_id=USER, session_id=session.id)
        assert stored is not None
        message = next(event for event in stored.events if event.content == said)
        story.adopt_events([message])
        assert model.requests
        for request in model.requests:
            told(request, story, window=window, current=message.invocation_id, whole=kind == "workflow")

    run_cases(
        cases,
        lambda steps, greeted, window: run(turn(steps, greeted, window)),
        step_lists(),
        st.booleans(),
        st.sampled_from(sorted(plugins)),
    )
    for runner in runners.values():
        run(runner.close())


Scene = tuple[list[tuple[str, int]], int, str]
"""What somebody else's process stores, then a turn through our Runner with a window, and how that turn comes."""


class Stage:
    """A session in a database, the processes that run turns in it, and its conversation."""

    def __init__(self, gaia: Gaia, model: ScriptedLlm) -> None:
        self.gaia = gaia
        self.model = model
        self.story = ConversationGenerator()
        self.session = {"app_name": APP, "user_id": USER, "session_id": uuid.uuid4().hex}
        self.runners: dict[int, GaiaRunner] = {}

    async def play(self, scenes: list[Scene]) -> None:
        """Run all scenes, and check each request of the model."""
        await self.gaia.session_service.create_session(**self.session)
        for steps, window, how in scenes:
            if how == "anew":
                await self.gaia.session_service.delete_session(**self.session)
                await self.gaia.session_service.create_session(**self.session)
                self.story = ConversationGenerator()
            if how == "restart":
                await self.close()
            await self.store(steps)
            await self.turn(window, how)
        await self.close()
        await self.gaia.session_service.delete_session(**self.session)

    async def close(self) -> None:
        """End all processes."""
        for runner in self.runners.values():
            await runner.close()
        self.runners.clear()

    async def store(self, steps: list[tuple[str, int]]) -> None:
        """Store the events of another process."""
        events = [event for event in self.story.generate(steps) if not event.partial]
        place = {"app": APP, "user": USER, "session_id": self.session["session_id"]}
        await append_events(self.gaia.session_service.db_engine, **place, events=events)

    async def turn(self, window: int, how: str) -> None:
        """Run a turn: the user sends a message, or answers a pending call."""
        self.model.requests.clear()
        waiting = self.story.open_jobs() if how == "answer" else []
        said: types.Content = types.UserContent(self.story.next_user_text())
        if waiting:
            said = types.Content(role="user", parts=[function_response("job", waiting[0].call_id, status="done")])
        turn = self.runner(window).run_async(user_id=USER, session_id=self.session["session_id"], new_message=said)
        async for _ in turn:
            pass
        stored = await self.gaia.session_service.get_session(**self.session)
        assert stored is not None
        message = next(event for event in reversed(stored.events) if event.author == "user")
        self.story.adopt_events(stored.events[: stored.events.index(message) + 1])
        [request] = self.model.requests
        if waiting:
            # ADK takes out what was said between a call and the answer that has just come.
            expected = expected_tokens(expected_replay(self.story, window=window, current=message.invocation_id))
            assert set(tokens_in(request)) <= set(expected)
            assert "done" in str(request.contents[-2:])
        else:
            told(request, self.story, window=window, current=message.invocation_id)
        self.story.adopt_events(stored.events)

    def runner(self, window: int) -> GaiaRunner:
        """Return the process whose configuration has this window."""
        if window not in self.runners:
            plugins = [SessionWindowPlugin(window_turns=window), MemoryPlugin(config=self.gaia._engine.loaded)]
            app = App(name=APP, root_agent=root_of("agent", self.model), plugins=plugins)
            engine, service = self.gaia._engine, self.gaia.session_service
            self.runners[window] = GaiaRunner(app=app, engine=engine, session_service=service)
        return self.runners[window]


@pytest.mark.slow
@case_counts(default_cases=10, slow_cases=5_000)
def test_a_bounded_load_sends_the_same_as_a_full_load(cases: int, host: tuple[Run, Gaia]) -> None:
    """Whatever others store or rewind between two turns, with changing windows, in any process."""
    run, gaia = host
    model = ScriptedLlm(default="ok")
    how = st.sampled_from(["say", "say", "say", "restart", "answer", "anew"])
    scene = st.tuples(step_lists(6), st.sampled_from([1, 2, 3, 5]), how)
    run_cases(cases, lambda scenes: run(Stage(gaia, model).play(scenes)), st.lists(scene, min_size=1, max_size=6))


async def test_a_command_during_a_paused_task_removes_nothing_else(tmp_path: Path) -> None:
    """ADK adds such a message to the task's invocation; only the command carries the stamp."""
    model = ScriptedLlm(default="what else?")
    booker = LlmAgent(name="booker", model=model, mode="task", description="books")
    root = LlmAgent(name="root", model=ScriptedLlm(call("booker", request="a table")), sub_agents=[booker])
    settings = {"app": APP, "home": str(tmp_path), "sessions": {"window_turns": 2}, "memory": {"auto_ingest": False}}
    async with open_memory(settings) as gaia:
        for text in ["book", "for two", "/memory", "at eight", "outside"]:
            await run_turn(gaia.runner(root), text)

    assert sent_texts(model.requests[-1])[1:] == [
        "what else?",
        "for two",
        "what else?",
        "at eight",
        "what else?",
        "outside",
    ]
