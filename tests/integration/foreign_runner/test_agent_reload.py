"""`--reload_agents`: the Runner is closed and its agent reimported, while requests run and the services stay."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin
from gaia_memory.backend.providers.sentence_encoder import SentenceEncoder
from gaia_memory.engine import Engine
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.plain_runner import APP, USER, build_runner, run_turn
from support.plugin_host import TOOLS, offered_tools, system_text

SOON = 30.0
"""Seconds: it takes milliseconds on an idle machine."""


class Server:
    """A server of agents: its services live as long as it runs, and a Runner is created again and again."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.service = Mem0MemoryService(config={"home": str(home), **settings})
        self.sessions = InMemorySessionService()

    def runner(self, model: ScriptedLlm | None = None) -> Runner:
        """Import the agent: all plugins are new objects."""
        model = model or ScriptedLlm(default="ok")
        return build_runner(
            SessionWindowPlugin(), MemoryPlugin(), model=model, service=self.service, sessions=self.sessions
        )

    async def engine(self) -> Engine:
        return await self.service.source.engine()


async def test_after_a_reload_the_next_turn_has_memory_at_once(tmp_path: Path) -> None:
    """The same memory, with its store, though no part held it in between."""
    server = Server(tmp_path / "data")
    old = server.runner()
    await run_turn(old, "/remember I like figs")
    before = await server.engine()
    await before.memory.settled()
    started = time.monotonic()
    await old.close()
    new = server.runner()
    listed = await run_turn(new, "/memory")
    took = time.monotonic() - started
    after = await server.engine()
    await after.memory.settled()
    owned = after.follower.is_owner
    await new.close()

    assert "I like figs" in listed
    assert took < SOON
    assert after.loaded.identity == before.loaded.identity
    assert owned


async def test_a_turn_that_runs_through_a_reload_ends_normally(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every request has its profile and tools, and its mark is removed; no later turn waits for it."""
    server = Server(tmp_path / "data")
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def think(_: LlmRequest) -> Any:
        arrived.set()
        await go_on.wait()
        return call("load_memory", query="fruit")

    model = ScriptedLlm(think, call("remember", fact="likes plums"), "done")
    old = server.runner(model)
    await run_turn(old, "/remember I like figs")
    turn = asyncio.create_task(run_turn(old, "what do I like?", session="long"))
    await arrived.wait()
    started = time.monotonic()
    await old.close()
    new = server.runner()
    assert await run_turn(new, "hi") == "ok"
    assert time.monotonic() - started < SOON
    go_on.set()
    assert await turn == "done"
    row = await (await server.engine()).conversations.row(SessionKey(APP, USER, "long"))
    listed = await run_turn(new, "/memory")
    await new.close()

    assert len({system_text(request) for request in model.requests}) == 1
    assert "I like figs" in system_text(model.requests[0])
    assert [offered_tools(request) for request in model.requests] == [TOOLS] * 3
    assert "likes plums" in listed
    assert row is not None
    assert (row.turn.turn_no, row.turn.active_until) == (1, None)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_model_that_hangs_during_learning_delays_no_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread cannot be stopped; the store, the leases and the next turn do not wait for it."""
    server = Server(tmp_path / "data")
    old = server.runner()
    await run_turn(old, "I live in Berlin")
    engine = await server.engine()
    hanging, go_on = threading.Event(), threading.Event()

    embed = SentenceEncoder.embed_batch

    def hang(*asked: Any, **more: Any) -> Any:
        hanging.set()
        go_on.wait(120)
        return embed(*asked, **more)

    monkeypatch.setattr(SentenceEncoder, "embed_batch", hang)
    sweep = asyncio.create_task(engine.sweep(force=True))
    assert await asyncio.to_thread(hanging.wait, 60)
    started = time.monotonic()
    await old.close()
    new = server.runner()
    listed = await run_turn(new, "/memory")
    assert listed.startswith("Nothing is stored about you yet.")
    took = time.monotonic() - started
    after = await server.engine()
    await after.memory.settled()
    go_on.set()
    await asyncio.gather(sweep, return_exceptions=True)
    report = await after.sweep(force=True)
    await new.close()

    assert after is not engine
    assert took < SOON
    assert report.consolidated == 1
