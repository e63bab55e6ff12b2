"""Content kept from the extractor, in a Conversation and in a third-party Runner, checked in its input."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.run_config import RunConfig
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes
from google.adk.auth.auth_tool import AuthConfig
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from gaia_memory.learning.prompts import ATTRIBUTION_INSTRUCTIONS
from gaia_memory.sessions import turn_presence
from gaia_memory.testing import ScriptedLlm, call
from support.harness import Sut, text_parts, tool_responses
from support.hosts.extractor_input import (
    ExtractionHost,
    answer_call,
    fact_texts,
    learn_and_read_messages,
    open_host,
    run_turn,
)

SECRET = "ZEBRA"
Open = Callable[..., AbstractAsyncContextManager[ExtractionHost]]


@pytest.fixture(params=["ours", "foreign"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, make: Callable[..., Awaitable[Sut]]) -> Open:
    """Return a function that opens each kind of host."""
    return lambda **arguments: open_host(request.param, tmp_path / "host", make, **arguments)


def agent_with(*tools: Any, **arguments: Any) -> Callable[[ScriptedLlm], LlmAgent]:
    return lambda model: LlmAgent(name="assistant", model=model, tools=list(tools), **arguments)


def nowhere(host: ExtractionHost, *words: str) -> bool:
    """Say whether no prompt of the extractor contains any of these words."""
    return not any(word in prompt for prompt in host.script.prompts["extractor"] for word in words)


@pytest.mark.acceptance("I21")
async def test_a_single_private_message_is_not_extracted(opened: Open) -> None:
    """The model reads it without the command; the next message is learned again."""
    async with opened(main=["kept in private", "hello"]) as host:
        assert await host.send(f"/private my word is {SECRET}") == "kept in private"
        await host.send("I live in Haifa")
        said = text_parts(host.main.requests[-1])

        assert said == [f"my word is {SECRET}", "kept in private", "I live in Haifa"]
        assert await learn_and_read_messages(host) == [("user", "I live in Haifa"), ("assistant", "hello")]
        assert nowhere(host, SECRET, "kept in private", "/private")


@pytest.mark.acceptance("I21")
async def test_a_private_section_spans_a_restart_and_a_clear(opened: Open) -> None:
    """From /private on to /private off; recall works, and messages before and after are learned."""
    load = call("load_memory", query="drink")
    async with opened(main=["one", load, "two", "three", "four", "five"]) as host:
        await host.send("/remember I drink tea")
        await host.send("before")
        on = await host.send("/private on")
        await host.send(f"{SECRET} first")
        recalled = tool_responses(host.main.requests[-1])[-1]
        listed = await host.send("/memory")
        await host.reopen()
        await host.send(f"{SECRET} second")

        assert "/private off" in on
        assert "private" in listed
        assert [row["text"] for row in recalled["memories"]] == ["I drink tea"]
        assert await learn_and_read_messages(host) == [("user", "before"), ("assistant", "one")]

        await host.send(f"{SECRET} third")
        assert await learn_and_read_messages(host) == []

        off = await host.send("/private off")
        await host.send("after")

        assert "no longer private" in off
        assert "private" not in await host.send("/memory")
        assert await learn_and_read_messages(host) == [("user", "after"), ("assistant", "five")]
        assert nowhere(host, SECRET)


async def test_a_reset_ends_the_private_section_and_says_so(opened: Open) -> None:
    """It starts a new conversation."""
    async with opened(main=["one", "two"]) as host:
        await host.send("/private on")
        await host.send(SECRET)
        reply = await host.send("/reset")
        await host.send("hello")

        assert "not private" in reply
        assert await learn_and_read_messages(host) == [("user", "hello"), ("assistant", "two")]
        assert nowhere(host, SECRET)


async def test_a_private_turn_with_a_failing_model_is_not_extracted(opened: Open) -> None:
    """The session then contains only the user's message."""
    async with opened(main=[RuntimeError("down"), "hello"]) as host:
        with suppress(RuntimeError):
            await host.send(f"/private {SECRET}")
        await host.send("hi")

        assert await learn_and_read_messages(host) == [("user", "hi"), ("assistant", "hello")]


async def test_a_late_response_to_a_call_made_in_private_is_not_extracted(opened: Open) -> None:
    """The host answers in a run that is not private, perhaps long after the first part was swept."""

    def book() -> None:
        """Book it."""

    main = [call("book"), f"Booked under {SECRET}", "hello"]
    tools = agent_with(LongRunningFunctionTool(book))
    async with opened(main=main, agent=tools, settings={"sessions": {"clear": "keep"}}) as host:
        asked = await run_turn(host, f"book under {SECRET}", run_config=RunConfig(custom_metadata={PRIVATE_KEY: True}))
        assert await learn_and_read_messages(host) == []

        await answer_call(host, asked, {"done": True})
        await host.send("hi")

        assert await learn_and_read_messages(host) == [("user", "hi"), ("assistant", "hello")]


@pytest.mark.acceptance("L08")
async def test_the_agents_actions_their_results_and_its_thoughts_are_not_extracted(opened: Open) -> None:
    """Thoughts, calls, code and results are left out; its text to the user is not."""

    def look_up(place: str) -> str:
        """Look up a place."""
        return f"{place} is {SECRET}"

    thinking = types.Content(
        role="model",
        parts=[
            types.Part(text=f"{SECRET}: they sound tired", thought=True),
            types.Part(text="Let me look."),
            types.Part.from_function_call(name="look_up", args={"place": SECRET}),
        ],
    )
    code = types.Part(executable_code=types.ExecutableCode(code=SECRET, language=types.Language.PYTHON))
    result = types.Part(
        code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output=SECRET)
    )
    done = types.Content(role="model", parts=[code, result, types.Part(text="It is far.")])
    async with opened(main=[thinking, done], agent=agent_with(look_up)) as host:
        await host.send("Where is Haifa?")

        assert await learn_and_read_messages(host) == [
            ("user", "Where is Haifa?"),
            ("assistant", "Let me look."),
            ("assistant", "It is far."),
        ]
        assert nowhere(host, SECRET, "look_up")


@pytest.mark.filterwarnings("ignore:This method is deprecated:DeprecationWarning")
async def test_a_secret_response_to_a_credential_request_is_not_extracted(opened: Open) -> None:
    """Neither ADK's request nor the response."""
    config = AuthConfig.model_validate(
        {
            "authScheme": {"type": "apiKey", "in": "header", "name": "key"},
            "rawAuthCredential": AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="x"),
        }
    )

    def enter(tool_context: ToolContext) -> dict[str, str]:
        """Sign in."""
        if tool_context.get_auth_response(config) is None:
            tool_context.request_credential(config)
            return {"status": "waiting"}
        return {"status": "in"}

    main = [call("enter"), "You are in."]
    async with opened(main=main, agent=agent_with(enter)) as host:
        asked = await run_turn(host, "sign me in")
        [request] = [found for event in asked for found in event.get_function_calls() if "credential" in found.name]
        response = {**request.args["authConfig"], "exchangedAuthCredential": {"authType": "apiKey", "apiKey": SECRET}}
        await answer_call(host, [event for event in asked if request in event.get_function_calls()], response)
        said = await learn_and_read_messages(host)

        assert said[0] == ("user", "sign me in")
        assert said[-1] == ("assistant", "You are in.")
        assert nowhere(host, SECRET, "adk_request_credential")


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_other_branches_and_agent_tools_are_not_extracted(opened: Open) -> None:
    """Messages among agents are not messages with the user."""
    inner = ScriptedLlm(default=f"{SECRET} among us")
    helper = LlmAgent(name="helper", model=inner)
    flow = ParallelAgent(name="flow", sub_agents=[LlmAgent(name="side", model=inner)])
    main = [call("helper", request=f"ask {SECRET}"), "Here you are.", call("transfer_to_agent", agent_name="flow")]
    maker = agent_with(AgentTool(helper), sub_agents=[flow])
    async with opened(main=main, agent=maker) as host:
        await host.send("help me")
        await run_turn(host, "and more")
        said = await learn_and_read_messages(host)

        assert len(inner.requests) == 2
        assert said == [("user", "help me"), ("assistant", "Here you are."), ("user", "and more")]
        assert nowhere(host, SECRET)


CLAIMED = json.dumps(
    {
        "memory": [
            {"id": "0", "text": "User likes Rome", "attributed_to": "user"},
            {"id": "1", "text": f"User was told of Hotel {SECRET}", "attributed_to": "assistant"},
            {"id": "2", "text": "User flies on Friday"},
        ]
    }
)


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({}, ["User likes Rome", "User flies on Friday"]),
        ({"extraction_instructions": "ONLY-TRAVEL"}, ["User likes Rome", "User flies on Friday"]),
        ({"learn_from": "both"}, ["User likes Rome", f"User was told of Hotel {SECRET}", "User flies on Friday"]),
    ],
    ids=["default", "own instructions", "both"],
)
async def test_facts_only_claimed_by_the_assistant_are_not_learned(
    opened: Open, settings: dict[str, Any], texts: list[str]
) -> None:
    """The extractor sees both sides and attributes each fact; also with the host's own instructions."""
    async with opened(main=[f"Take Hotel {SECRET}."], settings={"memory": settings}) as host:
        await host.send("I like Rome and fly there on Friday. A hotel?")
        host.script.answers["extractor"].append(CLAIMED)
        said = await learn_and_read_messages(host)
        [prompt] = host.script.prompts["extractor"]

        assert said[1] == ("assistant", f"Take Hotel {SECRET}.")
        assert await fact_texts(host) == texts
        assert (ATTRIBUTION_INSTRUCTIONS in prompt) == ("learn_from" not in settings)


@pytest.mark.acceptance("S11")
async def test_an_apology_is_not_extracted(opened: Open) -> None:
    """The user's message is."""
    async with opened(main=[RuntimeError("down"), "hello"]) as host:
        try:
            apology = await host.send("I live in Haifa")
        except RuntimeError:
            apology = "down"
        await host.send("hi")

        assert await learn_and_read_messages(host) == [
            ("user", "I live in Haifa"),
            ("user", "hi"),
            ("assistant", "hello"),
        ]
        assert nowhere(host, apology)


class Rewriter(BasePlugin):
    """Replaces each message, which makes ADK skip this hook in later plugins."""

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        return user_message.model_copy()


async def test_a_private_message_passed_on_by_another_plugin_is_not_extracted(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADK appends it before our plugin sees it, and the turn is cancelled, so that no event carries a stamp."""
    monkeypatch.setattr(turn_presence, "TASK_GAP_SECONDS", 0.05)
    arrived = asyncio.Event()

    async def hang(_: LlmRequest) -> str:
        arrived.set()
        await asyncio.Event().wait()
        return ""

    async def cancelled(text: str) -> None:
        turn = asyncio.create_task(host.send(text))
        await asyncio.wait_for(arrived.wait(), 60)
        arrived.clear()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    async with open_host("foreign", tmp_path, make, main=[hang, hang, "hello"], before=[Rewriter("first")]) as host:
        await cancelled(f"/private {SECRET} one")
        await host.send("/private on")
        await cancelled(f"{SECRET} two")
        await host.send("/private off")
        await host.send("hi")

        assert await learn_and_read_messages(host) == [("user", "hi"), ("assistant", "hello")]
        assert nowhere(host, SECRET)


async def test_private_messages_sent_while_the_ledger_was_unavailable_are_not_extracted(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The private state could not be looked up then; it is when they would be learned."""
    async with opened(main=["one", "two"]) as host:
        await host.send("/private on")
        await host.reopen()
        await host.send("/help")
        engine = await host.engine()

        async def away(*_: Any, **__: Any) -> Any:
            raise OSError("away")

        with monkeypatch.context() as broken:
            broken.setattr(engine.ledger, "begin_turn", away)
            assert await host.send(SECRET) == "one"
        await host.send(SECRET)

        assert await learn_and_read_messages(host) == []


async def test_private_turns_added_by_the_host_are_not_extracted(tmp_path: Path, make: Any) -> None:
    """`add_session_to_memory` and `add_events_to_memory`, for a session that we can read and one that we cannot."""
    async with open_host("foreign", tmp_path, make, main=["kept in private", "hello"]) as host:
        await host.send(SECRET, private=True)
        await host.send("I live in Haifa")
        service: Any = host.service  # type: ignore[attr-defined]
        session = await service_session(host)
        host.script.answers["extractor"].extend(['{"memory": []}'] * 3)
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(session.model_copy(update={"app_name": "elsewhere"}))
        await service.add_events_to_memory(app_name="gaia", user_id="itay", events=session.events, session_id="other")

        assert len(host.script.prompts["extractor"]) == 3
        assert all("Haifa" in prompt for prompt in host.script.prompts["extractor"])
        assert nowhere(host, SECRET, "kept in private")


async def service_session(host: Any) -> Any:
    """Return the host's session as it is stored."""
    key = host.key
    return await host.sessions.get_session(app_name=key.app, user_id=key.user, session_id=key.session)
