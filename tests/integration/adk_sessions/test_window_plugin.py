"""The replay window in a plain ADK Runner, without any configuration file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events._abort_events import _build_abort_events
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import Workflow
from google.genai import types
from sqlalchemy.ext.asyncio import create_async_engine

from gaia_memory import engine_registry
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.window_plugin import SessionWindowPlugin, WindowedSessionLoad, event_views
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import SessionKey, WindowAnchor
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.adk_runner import (
    APP,
    SESSION,
    USER,
    echo_model,
    function_call,
    function_response,
    load_session,
    model_content,
    part_kinds,
    run_turn,
    sent_texts,
    unpaired_calls,
    user_texts,
)

INSTRUCTION = "Answer briefly."


def noop() -> str:
    """Do nothing."""
    return "nothing"


def job() -> dict[str, str]:
    """Start a job that is answered later."""
    return {"status": "pending"}


def agent(model: ScriptedLlm, *tools: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=model, instruction=INSTRUCTION, tools=list(tools), **fields)


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[DatabaseSessionService]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")
    yield DatabaseSessionService(db_engine=engine)
    await engine.dispose()


@pytest.fixture
async def runner_of() -> AsyncIterator[Callable[..., Runner]]:
    runners: list[Runner] = []

    def build(root: Any, window_turns: int, service: Any = None, **app: Any) -> Runner:
        plugin = SessionWindowPlugin(window_turns=window_turns)
        runners.append(
            Runner(
                app=App(name=APP, root_agent=root, plugins=[plugin], **app),
                session_service=service or InMemorySessionService(),
                auto_create_session=True,
            )
        )
        return runners[-1]

    yield build
    for runner in runners:
        await runner.close()


@pytest.mark.acceptance("S03")
async def test_a_window_of_three_turns_limits_the_request(
    runner_of: Callable[..., Runner], sessions: DatabaseSessionService
):
    """The request has the last three turns, the database keeps all of them."""
    model = echo_model()
    runner = runner_of(agent(model), 3, sessions)
    for n in range(11):
        await run_turn(runner, f"t{n}")

    assert sent_texts(model.requests[-1]) == ["t8", "re t8", "t9", "re t9", "t10"]
    assert len((await load_session(sessions)).events) == 22


@pytest.mark.acceptance("S04")
async def test_a_window_of_one_turn_keeps_the_tool_calls_of_that_turn(runner_of: Callable[..., Runner]):
    """The running turn is complete: its message, the call, the response, and the instruction."""
    model = ScriptedLlm("hello", call("noop"), "done")
    runner = runner_of(agent(model, noop), 1)
    await run_turn(runner, "hi")
    events = await run_turn(runner, "use tool")

    assert part_kinds(model.requests[-1]) == ["use tool", "call", "response"]
    assert INSTRUCTION in model.requests[-1].config.system_instruction
    assert events[-1].content.parts[0].text == "done"


@pytest.mark.acceptance("S05")
async def test_tool_results_are_not_counted_as_turns_and_stay_with_their_calls(runner_of: Callable[..., Runner]):
    """A turn with three tool calls is one turn, before and after it leaves the window."""
    three = model_content(function_call("noop"), function_call("noop"), function_call("noop"))
    model = ScriptedLlm("a", call("noop"), three, "b", "c", "d")
    runner = runner_of(agent(model, noop), 2)
    for text in ["one", "two", "three", "four"]:
        await run_turn(runner, text)

    assert unpaired_calls(model.requests) == []
    assert part_kinds(model.requests[4]) == ["two", "call", "response", *["call"] * 3, *["response"] * 3, "b", "three"]
    assert part_kinds(model.requests[5]) == ["three", "c", "four"]


@pytest.mark.acceptance("S06")
async def test_relayed_messages_of_other_agents_use_no_window_turns(runner_of: Callable[..., Runner]):
    """A sub-agent that receives every turn by transfer is sent the last three messages of the user."""
    model = ScriptedLlm()
    for n in range(1, 7):
        other = "sub" if n % 2 else "root"
        model.add(call("transfer_to_agent", agent_name=other), f"{other} answers {n}")
    sub = LlmAgent(name="sub", model=model, instruction=INSTRUCTION, description="helps")
    runner = runner_of(agent(model, sub_agents=[sub]), 3)
    for n in range(1, 7):
        await run_turn(runner, f"turn {n}")

    by_sub, by_root = model.requests[-2:]

    assert user_texts(by_sub) == ["turn 4", "turn 5", "turn 6"]
    assert user_texts(by_root) == ["turn 4", "turn 5", "turn 6"]
    assert "root answers 4" in " ".join(sent_texts(by_sub))


@pytest.mark.acceptance("S07")
@pytest.mark.parametrize("window_turns", [0, -3, "many", 2.5, True])
def test_a_window_below_one_is_rejected_on_construction(window_turns: Any):
    """The message names the key."""
    with pytest.raises(InvalidInputError, match=r"sessions\.window_turns"):
        SessionWindowPlugin(window_turns=window_turns)


async def test_with_its_own_window_the_plugin_opens_no_engine(runner_of: Callable[..., Runner]):
    """In a third-party Runner it needs no configuration and writes no files."""
    runner = runner_of(agent(echo_model()), 2)
    for n in range(4):
        await run_turn(runner, f"t{n}")

    assert engine_registry._registry.entries == {}


async def test_a_turn_continues_with_a_broken_configuration(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Without a usable window the whole session is replayed."""
    broken = tmp_path / "gaia.yaml"
    broken.write_text("sessions: {window_turns: many}\n")
    model = echo_model()
    runner = Runner(
        app=App(name=APP, root_agent=agent(model), plugins=[SessionWindowPlugin(config=broken)]),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    for n in range(3):
        await run_turn(runner, f"t{n}")
    await runner.close()

    assert sent_texts(model.requests[-1]) == ["t0", "re t0", "t1", "re t1", "t2"]
    assert "window_turns" in caplog.text


async def test_a_long_running_call_is_replayed_until_its_response_arrives(runner_of: Callable[..., Runner]):
    """A response that arrives turns later finds its call, and both leave the window together."""
    model = ScriptedLlm(call("job"), "started", default="ok")
    runner = runner_of(agent(model, LongRunningFunctionTool(job)), 1)
    events = await run_turn(runner, "start the job")
    [call_id] = [found.id for event in events for found in event.get_function_calls()]
    await run_turn(runner, "meanwhile")
    await run_turn(runner, "and more")
    waiting = part_kinds(model.requests[-1])
    await run_turn(runner, types.Content(role="user", parts=[function_response("job", call_id, status="ready")]))
    answering = model.requests[-1]
    await run_turn(runner, "next")
    await run_turn(runner, "after that")

    assert waiting[:3] == ["start the job", "call", "response"]
    assert "and more" in waiting
    assert "meanwhile" not in waiting
    assert "ready" in str(answering.contents)
    assert part_kinds(model.requests[-1]) == ["after that"]
    assert unpaired_calls(model.requests[2:]) == []


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_a_nested_run_of_an_agent_tool_is_not_trimmed(runner_of: Callable[..., Runner]):
    """A wrapped agent gets its question, and the outer session keeps its window."""
    helper_model = ScriptedLlm(default="42")
    helper = LlmAgent(name="helper", model=helper_model, instruction=INSTRUCTION, description="knows")
    model = ScriptedLlm("a", "b", call("helper", request="the question"), "c")
    runner = runner_of(agent(model, AgentTool(helper)), 1)
    for text in ["one", "two", "ask"]:
        await run_turn(runner, text)

    assert sent_texts(helper_model.requests[-1]) == ["the question"]
    assert part_kinds(model.requests[-1]) == ["ask", "call", "response"]


async def test_a_workflow_root_is_trimmed_too(runner_of: Callable[..., Runner]):
    """The Workflow runs, and its earlier invocations leave the session it sees."""
    seen: list[list[str]] = []

    def look(ctx: Any, node_input: Any) -> str:
        seen.append(
            [part.text for event in ctx.session.events if event.author == "user" for part in event.content.parts]
        )
        return "seen"

    workflow = Workflow(name="flow", edges=[("START", look)])
    runner = runner_of(workflow, 2)
    for n in range(4):
        await run_turn(runner, f"t{n}")

    assert seen[-1] == ["t2", "t3"]


def saved(*invocation_ids: str) -> Session:
    """Return a session with one message of the user for each invocation id."""
    events = [
        Event(invocation_id=invocation_id, author="user", content=types.UserContent(f"{n} in {invocation_id}"))
        for n, invocation_id in enumerate(invocation_ids)
    ]
    return Session(app_name=APP, user_id=USER, id=SESSION, events=events)


@pytest.mark.parametrize("is_workflow", [False, True])
async def test_the_running_invocation_stays_whole_as_do_all_invocations_of_a_workflow(
    runner_of: Callable[..., Runner], is_workflow: bool
):
    """A paused task's invocation spans several messages; the nodes of a Workflow search all of theirs."""
    root = Workflow(name="flow", edges=[("START", noop)]) if is_workflow else agent(echo_model())
    runner = runner_of(root, 2)
    session = saved("old", "task", "flow", "flow", "flow", "task")
    context = runner._new_invocation_context(session, run_config=RunConfig(), invocation_id="task")
    await SessionWindowPlugin(window_turns=2).before_run_callback(invocation_context=context)
    kept = [event.content.parts[0].text for event in session.events]

    assert kept == (
        ["1 in task", "2 in flow", "3 in flow", "4 in flow", "5 in task"]
        if is_workflow
        else ["1 in task", "4 in flow", "5 in task"]
    )


async def test_the_load_bounds_of_one_session_are_not_applied_to_another(runner_of: Callable[..., Runner]):
    """ADK passes the RunConfig on to the Runner of an AgentTool, whose session begins with its own first turn."""
    remembered: list[WindowAnchor] = []

    async def remember(anchor: WindowAnchor) -> None:
        remembered.append(anchor)

    bounds = WindowedSessionLoad(key=SessionKey(APP, USER, "another"), turn_no=50, save_start=remember)
    session = saved("a", "b", "c")
    context = runner_of(agent(echo_model()), 2)._new_invocation_context(
        session, run_config=RunConfig(get_session_config=bounds), invocation_id="c"
    )
    await SessionWindowPlugin(window_turns=2).before_run_callback(invocation_context=context)

    assert len(session.events) == 2
    assert remembered == []


async def test_rewound_messages_do_not_return_with_the_window(
    runner_of: Callable[..., Runner], sessions: DatabaseSessionService
):
    """Rewound turns are neither replayed nor counted, even if the rewind's target is outside the window."""
    model = echo_model()
    runner = runner_of(agent(model), 2, sessions)
    for n in range(4):
        await run_turn(runner, f"t{n}")
    first = (await load_session(sessions)).events[2].invocation_id
    await runner.rewind_async(user_id=USER, session_id=SESSION, rewind_before_invocation_id=first)
    for n in range(4, 6):
        await run_turn(runner, f"t{n}")

    assert sent_texts(model.requests[-2]) == ["t0", "re t0", "t4"]
    assert sent_texts(model.requests[-1]) == ["t4", "re t4", "t5"]


async def test_a_command_does_not_count_as_a_turn(runner_of: Callable[..., Runner]):
    """A stamped message does not push other messages out of the window."""
    model = echo_model()
    runner = runner_of(agent(model), 2)
    await run_turn(runner, "one")
    await run_turn(runner, "/memory", run_config=RunConfig(custom_metadata={COMMAND_KEY: "memory"}))
    await run_turn(runner, "two")

    assert "one" in sent_texts(model.requests[-1])


def spoken(content: types.Content | None, author: str = "user", **fields: Any) -> Event:
    return Event(invocation_id="i", author=author, content=content, **fields)


@pytest.mark.parametrize(
    ("event", "is_turn"),
    [
        (spoken(types.UserContent("hi")), True),
        (spoken(types.UserContent(types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")))), True),
        (spoken(None, input_transcription=types.Transcription(text="hi", finished=True)), True),
        (spoken(types.Content(role="user", parts=[types.Part(text="")])), False),
        (spoken(types.Content(role="user", parts=[])), False),
        (spoken(types.Content(parts=[types.Part(text="no model is shown this")])), False),
        (spoken(None), False),
        (spoken(types.Content(role="user", parts=[function_response("job", "j", status="ready")])), False),
        (spoken(types.UserContent("/memory"), custom_metadata={COMMAND_KEY: "memory"}), False),
        (spoken(types.UserContent("relayed"), author="sub"), False),
    ],
    ids=["text", "image", "voice", "blank", "no parts", "no role", "no content", "answer", "command", "agent"],
)
def test_a_turn_begins_with_a_message_of_the_user(event: Event, is_turn: bool):
    """Not with an event that no model is shown, nor with a response to a call."""
    assert [view.is_user_turn for view in event_views([event])] == [is_turn]


async def test_a_call_of_an_aborted_turn_is_no_longer_pending(runner_of: Callable[..., Runner]):
    """ADK settles its calls itself: the turn leaves the window like any other."""
    asked = Event(
        invocation_id="i", author="root", content=model_content(function_call("job", "j")), long_running_tool_ids={"j"}
    )
    settled = _build_abort_events([asked], invocation_id="i", root_agent_name="root", branch=None)
    service = InMemorySessionService()
    session = await service.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    for event in [spoken(types.UserContent("start the job")), asked, *settled]:
        await service.append_event(session, event)
    model = echo_model()
    await run_turn(runner_of(agent(model), 1, service), "next")

    assert part_kinds(model.requests[-1]) == ["next"]


async def test_without_its_own_window_the_plugin_uses_that_of_the_memory_service(tmp_path: Path):
    """`sessions.window_turns` of the Runner's memory service applies, and the engine is released on close."""
    settings = {"app": APP, "home": str(tmp_path / "gaia"), "sessions": {"window_turns": 2}}
    model = echo_model()
    runner = Runner(
        app=App(name=APP, root_agent=agent(model), plugins=[SessionWindowPlugin()]),
        session_service=InMemorySessionService(),
        memory_service=Mem0MemoryService(config=settings),
        auto_create_session=True,
    )
    for n in range(4):
        await run_turn(runner, f"t{n}")
    opened = len(engine_registry._registry.entries)
    await runner.close()

    assert sent_texts(model.requests[-1]) == ["t2", "re t2", "t3"]
    assert (opened, engine_registry._registry.entries) == (1, {})
