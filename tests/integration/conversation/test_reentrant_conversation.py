"""A tool that sends messages to conversations: to others it may, to its own it may not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gaia_memory.errors import InsideTurnError
from gaia_memory.testing import ScriptedLlm, call
from support.conversations import Conversations, open_conversations
from support.plugin_host import build_agent, function_responses

SECONDS = 60.0
Send = Callable[[Conversations, str], Awaitable[str]]


async def sent(talks: Conversations, channel: str) -> str:
    return await talks.send("and me?", channel=channel)


async def sent_in_a_task(talks: Conversations, channel: str) -> str:
    return await asyncio.create_task(talks.send("and me?", channel=channel))


async def streamed(talks: Conversations, channel: str) -> str:
    return "".join([piece async for piece in talks.get(channel=channel).stream("and me?")])


async def asked_for_help(talks: Conversations, channel: str) -> str:
    return await talks.send("/help", channel=channel)


async def said_by_a_tool(folder: Path, send: Send, *, channel: str) -> tuple[str, str]:
    """Let a tool of the conversation on `cli` send a message to a channel; return its reply, and the next one."""
    answered: list[str] = []

    async def tell() -> str:
        """Send a message."""
        try:
            answered.append(await send(talks, channel))
        except InsideTurnError as error:
            answered.append(f"refused: {error}")
        return "told"

    model = ScriptedLlm(call("tell"), default="ok")
    async with open_conversations(folder, build_agent(model, tools=[tell])) as talks, asyncio.timeout(SECONDS):
        assert await talks.send("tell them") == "ok"
        again = await talks.send("and now?")
    assert function_responses(model.requests[-2])[-1:] == [{"result": "told"}]
    return answered[0], again


@pytest.mark.parametrize("send", [sent, sent_in_a_task, streamed, asked_for_help])
async def test_a_tool_that_sends_to_its_own_conversation_gets_an_error_at_once(send: Send, tmp_path: Path) -> None:
    """It would wait for the turn that waits for it; the turn ends normally, and so does the next one."""
    answer, again = await said_by_a_tool(tmp_path, send, channel="cli")

    assert "'itay:cli'" in answer
    assert "after the turn" in answer
    assert again == "ok"


async def test_a_tool_may_send_to_another_conversation(tmp_path: Path) -> None:
    """There is nothing to wait for."""
    assert await said_by_a_tool(tmp_path, sent, channel="telegram") == ("ok", "ok")


async def test_a_background_task_of_a_tool_may_send_after_the_turn(tmp_path: Path) -> None:
    """Nothing waits for it any more."""
    left: list[asyncio.Task[str]] = []
    is_over = asyncio.Event()

    async def later() -> str:
        """Send a message later."""

        async def tell() -> str:
            await is_over.wait()
            return await talks.send("and now?")

        left.append(asyncio.create_task(tell()))
        return "will do"

    model = ScriptedLlm(call("later"), default="ok")
    async with open_conversations(tmp_path, build_agent(model, tools=[later])) as talks, asyncio.timeout(SECONDS):
        assert await talks.send("later, please") == "ok"
        is_over.set()
        assert await left[0] == "ok"
