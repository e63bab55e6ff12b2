"""A conversation whose session is changed, cleared or deleted by others during a turn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.session import Session
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.adk.conversation import APOLOGY
from gaia_memory.testing import Gate, ScriptedExtractor, ScriptedLlm
from support.conversations import USER, open_conversations
from support.plugin_host import build_agent, contents_text, set_extractor

SOON = 30.0


@pytest.mark.parametrize("what", ["deleted", "changed"])
async def test_a_session_changed_by_its_host_just_before_the_message_loses_nothing(tmp_path: Path, what: str) -> None:
    """ADK refuses a change between load and message; the model was not asked yet, so the turn is retried."""
    model = ScriptedLlm(default="ok")
    async with open_conversations(tmp_path, model) as talks:
        await talks.send("one")
        service = talks.gaia.session_service
        load, times = service.get_session, 0

        async def interrupted(**wanted: Any) -> Session | None:
            nonlocal times
            session = await load(**wanted)
            times += 1
            if times == 1 and session is not None:
                whose = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
                if what == "deleted":
                    await service.delete_session(**whose)
                else:
                    other = await load(**whose)
                    assert other is not None
                    said = types.Content(role="model", parts=[types.Part(text="by the way")])
                    await service.append_event(other, Event(invocation_id="i", author="root", content=said))
            return session

        service.get_session = interrupted  # type: ignore[method-assign]
        reply = await talks.get().send("two")
        service.get_session = load  # type: ignore[method-assign]
        session = await talks.load_session()

    assert reply.text == "ok"
    assert session is not None
    said = [event.content.parts[0].text for event in session.events if event.content and event.content.parts]
    assert said == (["two", "ok"] if what == "deleted" else ["one", "ok", "by the way", "two", "ok"])
    assert contents_text(model.requests[-1]).splitlines() == said[:-1]


async def test_a_session_deleted_by_its_host_during_a_turn_causes_one_apology(tmp_path: Path) -> None:
    """The model was already asked, and is not asked again; the conversation continues."""

    async def deleting(_: LlmRequest) -> str:
        service = talks.gaia.session_service
        await service.delete_session(app_name="gaia", user_id=USER, session_id=f"{USER}:cli")
        return "lost"

    model = ScriptedLlm(deleting, "ok")
    async with open_conversations(tmp_path, model) as talks:
        first = await talks.send("one")
        second = await talks.send("two")

    assert (first, second) == (APOLOGY, "ok")
    assert contents_text(model.requests[1]) == "two"


async def test_a_turn_waits_for_a_turn_in_another_process(tmp_path: Path) -> None:
    """Two programs share a conversation: neither gets an apology, and each sees the previous messages."""
    gate = Gate()

    async def slow(_: LlmRequest) -> str:
        await gate.wait_until_open()
        return "first"

    model = ScriptedLlm("second")
    async with open_conversations(tmp_path, ScriptedLlm("begun", slow)) as talks:
        config = {"sessions": {"coalesce_seconds": 0}, "memory": {"recall_limit": 7}}
        async with open_memory(config, home=talks.gaia.config.home) as other:
            there = other.conversation(build_agent(model), user_id=USER, channel="cli")
            await talks.send("hello")
            gate.shut()
            first = asyncio.create_task(talks.send("one"))
            await gate.wait_for_waiter()
            second = asyncio.create_task(there.send("two"))
            done, _ = await asyncio.wait({second}, timeout=0.5)
            gate.open()
            answers = [await first, (await second).text]

    assert not done
    assert answers == ["first", "second"]
    assert contents_text(model.requests[0]).splitlines() == ["hello", "begun", "one", "first", "two"]


async def test_a_cancelled_turn_frees_its_conversation_for_other_processes(tmp_path: Path) -> None:
    """It is free for the sweep too: our own Runner notices, though ADK calls no hook."""
    gate = Gate()
    gate.shut()

    async def hang(_: LlmRequest) -> str:
        await gate.wait_until_open()
        return ""

    async with open_conversations(tmp_path, ScriptedLlm(hang)) as talks:
        set_extractor(talks.engine, ScriptedExtractor(default=[]))
        turn = asyncio.create_task(talks.send("one"))
        await gate.wait_for_waiter()
        during = await talks.engine.conversations.row(talks.get().key)
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        after = await talks.engine.conversations.row(talks.get().key)
        report = await talks.gaia.sweep(force=True)

    assert during is not None
    assert during.turn.active_owner is not None
    assert after is not None
    assert (after.turn.active_owner, after.turn.active_until) == (None, None)
    assert report.consolidated == 1


async def test_with_memory_off_two_processes_still_take_turns(tmp_path: Path) -> None:
    """Nothing is learned, but no turn is refused either."""
    off: dict[str, Any] = {"memory": {"enabled": False}}
    async with open_conversations(tmp_path, ScriptedLlm(default="ok"), off) as talks:
        config = {"sessions": {"coalesce_seconds": 0}, "memory": {"enabled": False, "recall_limit": 7}}
        async with open_memory(config, home=talks.gaia.config.home) as other:
            there = other.conversation(build_agent(ScriptedLlm(default="ok")), user_id=USER, channel="cli")

            async def say_there(text: str) -> str:
                return (await there.send(text)).text

            said = [say for at in range(4) for say in (talks.send(f"here {at}"), say_there(f"there {at}"))]
            answers = await asyncio.gather(*said)
        session = await talks.load_session()

    assert answers == ["ok"] * 8
    assert session is not None
    assert len(session.events) == 16
