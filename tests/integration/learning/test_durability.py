"""Messages are learned once, whatever happens around it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm
from support.harness import Sut, facts
from support.plugin_host import (
    APP,
    USER,
    build_agent,
    open_plugin_host,
    record_turn,
    set_extractor,
    user_content,
)

Make = Callable[..., Awaitable[Sut]]


def event(text: str, *, author: str = "user") -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(invocation_id=Event.new_id(), author=author, content=content)


async def test_two_hosts_of_one_app_with_separate_sessions_are_both_learned(tmp_path: Path) -> None:
    """A second Runner in the process may have its own session service for the same app."""
    extractor = ScriptedExtractor(default=["Itay is here"])
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok"))) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        await host.run_turn("from the first")
        second = Runner(
            app=App(
                name=APP, root_agent=build_agent(ScriptedLlm(default="ok")), plugins=[MemoryPlugin(config=host.config)]
            ),
            session_service=InMemorySessionService(),
            auto_create_session=True,
        )
        turn = second.run_async(user_id=USER, session_id="other", new_message=user_content("from the second"))
        [_ async for _ in turn]
        await engine.sweep(force=True)
        await second.close()

    said = sorted(chunk.messages[0].text for chunk in extractor.chunks)
    assert said == ["from the first", "from the second"]


async def test_a_host_whose_sessions_cannot_be_listed_delays_no_other_app(tmp_path: Path) -> None:
    """Apps have separate session services."""

    class Away(InMemorySessionService):
        async def list_sessions(self, **_: Any) -> Any:
            raise OSError("away")

    extractor = ScriptedExtractor(default=[])
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok"))) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        engine.attach_transcript("away", SessionTranscript(Away(), "away", clear_method="keep"))
        await host.run_turn("hello")
        report = await engine.sweep(force=True)

    assert report.consolidated == 1
    assert len(extractor.chunks) == 1


async def test_a_heartbeat_continues_after_one_failure(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that is not renewed lets another process extract the same conversation."""
    monkeypatch.setattr("gaia_memory.sessions.conversation_lease.RENEWAL_INTERVAL_SECONDS", 0.01)
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("F")

    sut = await make(extractor=[slow])
    ledger = sut.gaia._engine.ledger
    renew, renewed = ledger.renew, asyncio.Event()
    tries = 0

    async def once_away(*args: Any, **kwargs: Any) -> bool:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise MemoryUnavailable("away", remedy="wait")
        renewed.set()
        return await renew(*args, **kwargs)

    monkeypatch.setattr(ledger, "renew", once_away)
    await sut.chat("u", "cli", "one")
    idle = asyncio.create_task(sut.sweep_after_idle())
    try:
        await asyncio.wait_for(renewed.wait(), 60)
    finally:
        go_on.set()
        await idle

    assert await sut.texts("u") == ["F"]


async def test_a_message_is_answered_though_the_next_one_was_cancelled(make: Make) -> None:
    """Its sender relied on the later message's reply."""
    sut = await make("sessions: {coalesce_seconds: 0.1}")
    first = asyncio.create_task(sut.conversation("u", "cli").send("first"))
    await asyncio.sleep(0.02)
    second = asyncio.create_task(sut.conversation("u", "cli").send("second"))
    await asyncio.sleep(0.02)
    second.cancel()
    reply = await first
    session = await sut.session("u", "cli")

    assert (reply.text, reply.merged) == ("ok", False)
    assert session is not None
    assert [said.content.parts[0].text for said in session.events if said.content] == ["first", "ok"]


async def test_closing_one_engine_does_not_release_the_leases_of_another(make: Make) -> None:
    """Two configurations of one home in one process: the conversation is not extracted twice."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("F")

    sut = await make(extractor=[slow])
    await sut.chat("u", "cli", "one")
    idle = asyncio.create_task(sut.sweep_after_idle())
    await asyncio.to_thread(asked.wait, 60)
    async with open_memory({"memory": {"auto_ingest": False}}, home=sut.home):
        pass
    go_on.set()
    report = await idle

    assert report.consolidated == 1
    assert await sut.texts("u") == ["F"]


async def test_a_conversation_whose_session_was_deleted_is_given_up_after_a_day(make: Make) -> None:
    """Its host deleted it before it was learned: nothing is left to wait for."""
    sut = await make()
    engine, key = sut.gaia._engine, SessionKey("gaia", "u", "deleted")
    await record_turn(engine, key)
    await sut.sweep(force=True)
    sut.clock.advance(timedelta(days=1, seconds=1))
    await sut.sweep(force=True)
    status = await sut.gaia.memory.status(sut.scope("u"))

    assert (status.state, status.pending) == ("ok", ())
