"""Slash commands typed in a third-party Runner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.plugins.slash_commands import UNAVAILABLE_ANSWER
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY
from gaia_memory.errors import ModelUnavailableError
from gaia_memory.testing import ScriptedEmbedder, ScriptedExtractor, ScriptedLlm, call
from support.hosts.adk_runner import function_call, model_content
from support.plugin_host import (
    KEY,
    SCOPE,
    break_database,
    build_agent,
    contents_text,
    events_text,
    open_plugin_host,
    request_text,
    set_extractor,
)

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import Vector


def stamps(events: list[Event]) -> list[object]:
    """Return each event's command stamp."""
    return [(event.custom_metadata or {}).get(COMMAND_KEY) for event in events]


async def test_a_command_is_answered_without_the_model_and_stamped(tmp_path: Path) -> None:
    """Both of its events are stamped; the caller's RunConfig is not changed."""
    run_config = RunConfig(custom_metadata={"mine": 1})
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm())) as host:
        events = await host.run_turn("/remember I like teal", run_config=run_config)
        facts = await (await host.engine()).memory.facts(SCOPE)
        session = await host.load_session()

    assert "teal" in events_text(events)
    assert [fact.text for fact in facts] == ["I like teal"]
    assert session is not None
    assert stamps(session.events) == ["remember", "remember"]
    assert run_config.custom_metadata == {"mine": 1}


@pytest.mark.acceptance("I07")
async def test_commands_are_in_no_later_request_and_are_never_learned(tmp_path: Path) -> None:
    """Neither the command nor its reply."""
    model = ScriptedLlm("one", "two")
    extractor = ScriptedExtractor(default=[])
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("first")
        await host.run_turn("/remember I like teal")
        await host.run_turn("/memory")
        await host.run_turn("second")
        await (await host.engine()).sweep(force=True)

    learned = [said.text for chunk in extractor.chunks for said in chunk.messages]
    assert contents_text(model.requests[1]) == "first\none\nsecond"
    assert learned == ["first", "one", "second", "two"]


async def test_the_reply_to_a_command_comes_from_the_active_agent(tmp_path: Path) -> None:
    """A command does not return the conversation to the root agent, and its author causes no warning in ADK."""
    child = build_agent(ScriptedLlm("from the child", "still the child"), "child")
    root = build_agent(
        ScriptedLlm(model_content(function_call("transfer_to_agent", "c1", agent_name="child"))),
        "root",
        sub_agents=[child],
    )
    async with open_plugin_host(tmp_path, root) as host:
        await host.run_turn("to the child")
        command = await host.run_turn("/remember I like teal")
        after = await host.run_turn("and now?")

    assert [event.author for event in command] == ["child"]
    assert events_text(after) == "still the child"


class SweepingEmbedder(ScriptedEmbedder):
    """Learns and clears everything that is due while it embeds."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        await self._engine.sweep(force=True)
        return await super().embed(texts, purpose=purpose)


async def test_a_session_is_not_cleared_during_a_command(tmp_path: Path) -> None:
    """Otherwise the reply would meet a changed session, and the user would see an error."""
    extractor = ScriptedExtractor(default=[])
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm("one"))) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        await host.run_turn("first")
        engine.backend.embedder = SweepingEmbedder(engine)
        answer = await host.run_turn("/remember I like teal")
        learned_meanwhile = len(extractor.chunks)
        report = await engine.sweep(force=True)

    assert events_text(answer) == "I will remember: I like teal"
    assert learned_meanwhile == 0
    assert report.consolidated == 1


@pytest.mark.acceptance("I06")
async def test_commands_alone_leave_nothing_for_a_sweep(tmp_path: Path) -> None:
    """They are no turns and leave no mark."""
    extractor = ScriptedExtractor()
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm())) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("/help")
        await host.run_turn("/memory")
        row = await host.ledger_row()
        await (await host.engine()).sweep(force=True)

    assert extractor.chunks == []
    assert row is None or row.turn.turn_no == 0


async def test_a_command_rewritten_by_another_plugin_still_does_not_reach_the_model(tmp_path: Path) -> None:
    """When a plugin replaces the message, ADK skips this hook in later plugins."""

    class Rewriter(BasePlugin):
        async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
            return user_message.model_copy()

    model = ScriptedLlm("one", "two")
    plugins: list[Any] = [Rewriter("first"), MemoryPlugin(config={"home": str(tmp_path / "gaia")})]
    extractor = ScriptedExtractor([])
    async with open_plugin_host(tmp_path, build_agent(model), plugins=plugins) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("first")
        command = await host.run_turn("/memory")
        await host.run_turn("second")
        row = await host.ledger_row()
        await (await host.engine()).sweep(force=True)

    [chunk] = extractor.chunks
    assert [message.text for message in chunk.messages] == ["first", "one", "second", "two"]
    assert "Nothing is stored" in events_text(command)
    assert contents_text(model.requests[1]) == "first\none\nsecond"
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (2, None)


@pytest.mark.acceptance("C14", "C15")
@pytest.mark.parametrize("text", ["/nope", "and/or", "tea or /memory?"])
async def test_an_unknown_command_reaches_the_model(tmp_path: Path, text: str) -> None:
    """It may be the host's own."""
    model = ScriptedLlm("ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        events = await host.run_turn(text)

    assert contents_text(model.requests[0]) == text
    assert events_text(events) == "ok"


@pytest.mark.acceptance("S12")
async def test_reset_learns_once_and_then_clears(tmp_path: Path) -> None:
    """The next request contains no earlier message; the facts stay."""
    model = ScriptedLlm("one", "two")
    extractor = ScriptedExtractor(["moved to Berlin"])
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("I moved to Berlin")
        reply = events_text(await host.run_turn("/reset"))
        await host.run_turn("hello again")
        facts = await (await host.engine()).memory.facts(SCOPE)

    assert "fresh start" in reply.lower()
    assert len(extractor.chunks) == 1
    assert contents_text(model.requests[1]) == "hello again"
    assert [fact.text for fact in facts] == ["moved to Berlin"]


@pytest.mark.acceptance("S12")
async def test_a_call_from_before_a_reset_is_answered_without_what_was_said_beside_it(tmp_path: Path) -> None:
    """ADK resumes the turn of the call, which the session keeps."""
    model = ScriptedLlm(call("ask_boss"), "I asked him", "good news")
    agent = build_agent(model, tools=[LongRunningFunctionTool(ask_boss)])
    async with open_plugin_host(tmp_path, agent) as host:
        set_extractor(await host.engine(), ScriptedExtractor(default=[]))
        asked = await host.run_turn("Ask for ZEBRA")
        [call_id] = [each.id for event in asked for each in event.get_function_calls()]
        await host.run_turn("/reset")
        answer = types.FunctionResponse(id=call_id, name="ask_boss", response={"answer": "yes"})
        message = types.Content(role="user", parts=[types.Part(function_response=answer)])
        turn = host.runner.run_async(user_id=KEY.user, session_id=KEY.session, new_message=message)
        events = [event async for event in turn]

    assert events_text(events) == "good news"
    assert "ZEBRA" not in request_text(model.requests[-1])


def ask_boss() -> dict[str, str]:
    """Ask the boss, who answers some day."""
    return {"status": "pending"}


@pytest.mark.acceptance("S13")
async def test_a_reset_that_cannot_learn_says_so_and_keeps_the_conversation(tmp_path: Path) -> None:
    """It is learned later."""
    model = ScriptedLlm("one", "two")
    extractor = ScriptedExtractor(ModelUnavailableError("503"), ["moved to Berlin"])
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("I moved to Berlin")
        reply = events_text(await host.run_turn("/reset"))
        await host.run_turn("hello again")
        await (await host.engine()).sweep(force=True)
        facts = await (await host.engine()).memory.facts(SCOPE)

    assert "not saved" in reply
    assert "I moved to Berlin" in request_text(model.requests[1])
    assert [fact.text for fact in facts] == ["moved to Berlin"]


@pytest.mark.acceptance("I04")
async def test_reset_without_learning_still_clears(tmp_path: Path) -> None:
    """`memory.auto_ingest: false` asks no model."""
    model = ScriptedLlm("one", "two")
    extractor = ScriptedExtractor()
    async with open_plugin_host(tmp_path, build_agent(model), config={"memory": {"auto_ingest": False}}) as host:
        set_extractor(await host.engine(), extractor)
        await host.run_turn("I moved to Berlin")
        await host.run_turn("/reset")
        await host.run_turn("hello again")

    assert contents_text(model.requests[1]) == "hello again"


@pytest.mark.acceptance("C06")
async def test_commands_say_that_memory_is_off(tmp_path: Path) -> None:
    """The model is not asked."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm()), config={"memory": {"enabled": False}}) as host:
        replies = [events_text(await host.run_turn(text)) for text in ("/remember x", "/memory", "/forget", "/reset")]

    assert all("off" in reply for reply in replies)


async def test_a_failing_command_is_answered_and_kept_from_the_model(tmp_path: Path) -> None:
    """`/forget yes` must not become a message to the model when the database is unavailable."""
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm())) as host:
        break_database(await host.engine())
        events = await host.run_turn("/memory")

    assert events_text(events) == UNAVAILABLE_ANSWER


async def test_with_memory_that_cannot_be_opened_commands_are_answered_and_turns_continue(tmp_path: Path) -> None:
    """The configured database does not exist."""
    model = ScriptedLlm("ok")
    config = {"memory": {"database_url": f"sqlite:///{tmp_path}"}}
    async with open_plugin_host(tmp_path, build_agent(model), config=config) as host:
        command = events_text(await host.run_turn("/memory"))
        turn = events_text(await host.run_turn("hi"))

    assert "\N{HORIZONTAL ELLIPSIS} cannot be used" in command
    assert str(tmp_path.parent) not in command
    assert "set another: `home`" in command
    assert turn == "ok"


async def test_a_command_after_a_clear_by_another_process_is_answered(tmp_path: Path) -> None:
    """The loaded session is brought up to date."""
    model = ScriptedLlm("one")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        set_extractor(await host.engine(), ScriptedExtractor(default=[]))
        await host.run_turn("I moved to Berlin")
        await (await host.engine()).consolidate(KEY)
        events = await host.run_turn("/memory")

    assert "Nothing is stored" in events_text(events)
