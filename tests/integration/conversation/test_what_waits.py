"""What users are told about messages that wait to be learned, in a Runner of ours and in a third-party one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.testing import ScriptedLlm
from support.conversations import open_conversations
from support.plugin_host import build_agent, open_plugin_host

Say = Callable[[str], Coroutine[Any, Any, object]]

_WAITS = "This conversation waits to be learned"


@pytest.fixture(params=["ours", "third-party"])
async def say(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Send messages of one user, and return the replies."""
    monkeypatch.setattr("gaia_memory.engine.Engine.start", lambda *_, **__: None)
    async with AsyncExitStack() as stack:
        model = ScriptedLlm(default="ok")
        if request.param == "ours":
            yield (await stack.enter_async_context(open_conversations(tmp_path, model))).send
        else:
            host = await stack.enter_async_context(open_plugin_host(tmp_path, build_agent(model)))
            yield host.run_turn


async def is_said_to_wait(say: Say) -> bool:
    return _WAITS in str(await say("/memory"))


async def test_a_public_message_waits(say: Say) -> None:
    """Commands do not."""
    before = await is_said_to_wait(say)
    await say("I live in Oslo")

    assert (before, await is_said_to_wait(say)) == (False, True)


async def test_private_messages_do_not_wait(say: Say) -> None:
    """Neither single ones, nor those of a private conversation, even when that has ended."""
    await say("/private I am planning a party")
    single = await is_said_to_wait(say)
    await say("/private")
    await say("It is for Tom")
    await say("/private off")
    ended = await is_said_to_wait(say)
    await say("I live in Oslo")

    assert (single, ended, await is_said_to_wait(say)) == (False, False, True)


async def test_forgotten_messages_do_not_wait(say: Say) -> None:
    """Everything was forgotten; what is said afterwards waits."""
    await say("I live in Oslo")
    await say("/forget yes")
    forgotten = await is_said_to_wait(say)
    await say("I live in Rome")

    assert (forgotten, await is_said_to_wait(say)) == (False, True)
