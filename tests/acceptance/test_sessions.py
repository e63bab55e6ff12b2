"""The conversation itself: stored, replayed, one turn at a time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest

from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.testing import ScriptedLlm, call
from support.harness import ALL, INSTRUCTION, AgentMaker, Sut, plain_agent, text_parts

Make = Callable[..., Awaitable[Sut]]


async def test_S01_a_conversation_continues_after_a_restart(make: Make) -> None:
    """Messages and answers are replayed in order; a turn is two events."""
    sut = await make(main=["nice to meet you", "hello again"])
    await sut.chat("u", "cli", "my name is Itay")
    first = await sut.session("u", "cli")
    await sut.reopen()
    await sut.chat("u", "cli", "hi")
    second = await sut.session("u", "cli")

    assert text_parts(sut.REQ[-1]) == ["my name is Itay", "nice to meet you", "hi"]
    assert first is not None
    assert second is not None
    assert second.id == "u:cli"
    assert len(second.events) == len(first.events) + 2


async def test_S02_each_channel_has_its_own_session(make: Make) -> None:
    """Nothing said on the command line is replayed on Telegram."""
    sut = await make()
    await sut.chat("u", "cli", "my name is Itay")
    await sut.chat("u", "telegram", "x")

    assert await sut.session("u", "telegram") is not None
    assert text_parts(sut.REQ[-1]) == ["x"]


def agent_with_a_static_instruction(model: ScriptedLlm) -> LlmAgent:
    """Return an agent whose own instruction ADK inserts among the messages."""
    return LlmAgent(name="assistant", model=model, static_instruction="Be brief.", instruction=INSTRUCTION)


@pytest.mark.parametrize("agent", [plain_agent, agent_with_a_static_instruction])
async def test_S03_the_model_sees_the_last_turns_and_the_database_keeps_all(make: Make, agent: AgentMaker) -> None:
    """Three of eleven turns are replayed with their answers; an instruction between them counts as no turn."""
    sut = await make("sessions: {window_turns: 3}", main=[f"r{number}" for number in range(11)], agent=agent)
    for number in range(11):
        await sut.chat("u", "cli", f"t{number}")
    session = await sut.session("u", "cli")

    assert [text for text in text_parts(sut.REQ[-1]) if INSTRUCTION not in text] == ["t8", "r8", "t9", "r9", "t10"]
    assert INSTRUCTION in ALL(sut.REQ[-1])
    assert session is not None
    assert len(session.events) == 22


@pytest.mark.parametrize("agent", [plain_agent, agent_with_a_static_instruction])
async def test_S04_a_window_of_one_turn_keeps_a_call_with_its_response(make: Make, agent: AgentMaker) -> None:
    """The running turn is never cut."""
    main = ["old", call("load_memory", query="x"), "done"]
    sut = await make("sessions: {window_turns: 1}", main=main, agent=agent)
    await sut.chat("u", "cli", "before")
    replies = await sut.chat("u", "cli", "use tool")
    parts = [
        part for content in sut.REQ[-1].contents for part in content.parts or [] if INSTRUCTION not in (part.text or "")
    ]

    assert replies == ["done"]
    assert without_notes(parts[0].text or "") == "use tool"
    assert parts[1].function_call is not None
    assert parts[2].function_response is not None
    assert len(parts) == 3
    assert "Help the person" in ALL(sut.REQ[-1])


@pytest.mark.parametrize(("before", "after", "at_once", "later"), [(3, 9, 0, 3), (9, 3, 6, 8)])
async def test_S14_a_window_edited_while_memory_is_closed_applies_at_the_next_turn(
    make: Make, before: int, after: int, at_once: int, later: int
) -> None:
    """A larger window brings earlier turns back; the session loses nothing."""
    sut = await make(f"sessions: {{window_turns: {before}}}")
    for number in range(8):
        await sut.chat("u", "cli", f"t{number}")
    await sut.close()
    sut.write_config(f"sessions: {{window_turns: {after}}}")
    await sut.reopen()
    for number in (8, 9, 10):
        await sut.chat("u", "cli", f"t{number}")
    session = await sut.session("u", "cli")

    newest = [text_parts(request, "user") for request in sut.REQ[-3:]]
    assert newest[0] == [f"t{number}" for number in range(at_once, 9)]
    assert newest[2] == [f"t{number}" for number in range(later, 11)]
    assert session is not None
    assert len(session.events) == 22


async def test_S08_two_concurrent_messages_are_answered_one_after_the_other(make: Make) -> None:
    """At most one model call is in flight, and the events alternate."""
    at_work = most = 0

    async def slow(_: LlmRequest) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.05)
        at_work -= 1
        return "ok"

    sut = await make(main=[slow, slow])
    replies = await asyncio.gather(sut.chat("u", "cli", "one"), sut.chat("u", "cli", "two"))
    session = await sut.session("u", "cli")

    assert most == 1
    assert replies == [["ok"], ["ok"]]
    assert session is not None
    assert [event.author for event in session.events] == ["user", "assistant", "user", "assistant"]


async def test_S09_a_burst_of_messages_is_one_turn(make: Make) -> None:
    """Three messages within the debounce window: one model call with all three, one reply."""
    sut = await make("sessions: {coalesce_seconds: 0.2}", main=["all at once"])
    replies = await asyncio.gather(*(sut.chat("u", "cli", text) for text in ("one", "two", "three")))

    assert len(sut.REQ) == 1
    assert text_parts(sut.REQ[0], "user")[-1] == "one\ntwo\nthree"
    assert [reply for reply in replies if reply] == [["all at once"]]


async def test_S10_a_reply_never_repeats_the_users_message(make: Make) -> None:
    """Neither in the whole reply nor in the stream."""
    sut = await make(main=["first answer", "second answer"])
    [reply] = await sut.chat("u", "cli", "my own words")
    pieces = [piece async for piece in sut.conversation("u", "cli").stream("my own words")]

    assert reply == "first answer"
    assert "".join(pieces) == "second answer"
