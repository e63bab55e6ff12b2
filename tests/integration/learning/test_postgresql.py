"""The complete path on a server: sessions and memory in one PostgreSQL database, beside ADK's tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from gaia_memory.testing import call
from support.databases import memory_url
from support.harness import ALL, SYS, Sut, facts, tool_responses

Make = Callable[..., Awaitable[Sut]]


async def test_a_conversation_is_learned_recalled_and_forgotten_on_one_server_database(
    make: Make, tmp_path: Path
) -> None:
    """Turn, sweep, profile, recall, restart, forget and settle, with ADK on the same engine."""
    async with memory_url("postgresql", tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        sut = await make(
            f"sessions: {{database_url: '{address}'}}",
            main=["nice", call("load_memory", query="vegetarian"), "you are vegetarian"],
            extractor=[facts("User is vegetarian", "User has a cat called Tom")],
            profiler=["- Vegetarian\n- Has a cat", "- Has a cat"],
        )
        engine = sut.gaia._engine

        assert engine.sessions_engine() is engine.database.engine
        assert await sut.chat("itay", "cli", "I'm vegetarian and have a cat called Tom") == ["nice"]
        assert (await sut.sweep_after_idle()).consolidated == 1
        assert await sut.session("itay", "cli") is None
        assert await sut.texts("itay") == ["User is vegetarian", "User has a cat called Tom"]
        assert await sut.chat("itay", "telegram", "what do I eat?") == ["you are vegetarian"]
        assert "- Vegetarian" in SYS(sut.REQ[-1])
        assert tool_responses(sut.REQ[-1])[0]["memories"][0]["text"] == "User is vegetarian"

        await sut.reopen()
        session = await sut.session("itay", "telegram")

        assert session is not None
        assert len(session.events) == 4

        memory, scope = sut.gaia.memory, sut.scope("itay")
        [diet, _] = await memory.facts(scope)
        receipt = await memory.forget(scope, fact_id=diet.id)
        await memory.settled()

        assert receipt.count == 1
        assert await sut.texts("itay") == ["User has a cat called Tom"]

        await sut.chat("itay", "web", "hi")

        assert "Vegetarian" not in SYS(sut.REQ[-1])

        everything = await memory.forget(scope)
        await memory.settled()
        await sut.chat("itay", "later", "hi")
        status = await memory.status(scope)

        assert everything.count == 1
        assert await sut.fact_rows("itay") == []
        assert "cat" not in ALL(sut.REQ[-1])
        assert (status.state, status.facts, status.lag, status.erasures) == ("ok", 0, 0, 0)
        assert await sut.gaia.memory.facts(sut.scope("dana")) == []
        await sut.close()
