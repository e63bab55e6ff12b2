"""The acceptance harness: its observations match what happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from gaia_memory.testing import call
from support.harness import ALL, SYS, Sut, facts, text_parts, tool_names, tool_responses

Make = Callable[..., Awaitable[Sut]]


async def test_the_harness_sees_a_conversation_learned_and_known_in_the_next_session(make: Make) -> None:
    """Chat, idle time, learning, profile and recall are each observed from outside."""
    sut = await make(
        main=["nice", call("load_memory", query="vegetarian"), "you are vegetarian"],
        extractor=[facts("User is vegetarian")],
        profiler=["- Vegetarian"],
    )
    replies = await sut.chat("itay", "cli", "I'm vegetarian")
    before = await sut.session("itay", "cli")

    assert replies == ["nice"]
    assert before is not None
    assert len(before.events) == 2
    assert (sut.EXT, await sut.fact_rows("itay")) == ([], [])

    report = await sut.sweep_after_idle("itay", "cli")

    assert report.consolidated == 1
    assert len(sut.EXT) == 1
    assert "I'm vegetarian" in sut.EXT[0]
    assert await sut.texts("itay") == ["User is vegetarian"]
    assert await sut.session("itay", "cli") is None

    assert await sut.chat("itay", "telegram", "what do I eat?") == ["you are vegetarian"]
    assert "- Vegetarian" in SYS(sut.REQ[-1])
    assert "User is vegetarian" in sut.PROF[0]
    assert {"remember", "load_memory"} <= tool_names(sut.REQ[-1])
    assert [each["text"] for each in tool_responses(sut.REQ[-1])[0]["memories"]] == ["User is vegetarian"]
    assert text_parts(sut.REQ[1], "user") == ["what do I eat?"]


async def test_the_harness_reopens_the_same_home_and_keeps_users_apart(make: Make, tmp_path: Path) -> None:
    """Messages are there after a restart, and in no other user's request."""
    sut = await make(home=tmp_path / "other")
    await sut.chat("a", "cli", "my name is Itay")
    await sut.reopen()
    await sut.chat("a", "cli", "hi")
    await sut.chat("b", "cli", "hello")

    assert text_parts(sut.REQ[-2]) == ["my name is Itay", "ok", "hi"]
    assert "Itay" not in ALL(sut.REQ[-1])


async def test_the_harness_accepts_a_configuration(make: Make) -> None:
    """A changed file is in force after a restart."""
    sut = await make("memory: {enabled: false}")
    await sut.chat("a", "cli", "hi")

    assert "load_memory" not in tool_names(sut.REQ[-1])

    sut.write_config("memory: {recall_limit: 2}")
    await sut.reopen()
    await sut.chat("a", "cli", "hi again")

    assert "load_memory" in tool_names(sut.REQ[-1])
    assert sut.gaia.config.memory.recall_limit == 2
