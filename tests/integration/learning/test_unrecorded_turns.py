"""Turns that were never counted, because memory was unavailable and their process has ended, are still found."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.adk.events.event import Event
from google.genai import types

from gaia_memory.engine import Engine
from gaia_memory.models import Scope, SessionKey
from support.hosts.session_service_host import SESSION_ARGUMENTS, USER, SessionServiceHost, open_session_service_host
from support.hosts.session_services import APP, SERVICE_KINDS


@pytest.fixture
def manual_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep only when a test does."""
    monkeypatch.setattr(Engine, "start", lambda *_, **__: None)


async def say_past_memory(host: SessionServiceHost, words: str, *, session: str) -> None:
    """Append a user's message like a process without memory."""
    whose = {"app_name": APP, "user_id": USER, "session_id": session}
    loaded = await host.service.get_session(**whose) or await host.service.create_session(**whose)
    said = types.Content(role="user", parts=[types.Part(text=words)])
    await host.service.append_event(loaded, Event(invocation_id=Event.new_id(), author="user", content=said))


@pytest.mark.usefixtures("manual_sweep")
@pytest.mark.parametrize("kind", SERVICE_KINDS)
@pytest.mark.parametrize("clear", ["auto", "keep"])
async def test_messages_stored_without_memory_are_learned_once_by_the_next_sweep(
    tmp_path: Path, kind: str, clear: str
) -> None:
    """In a learned session, and in a new one; a session without new messages causes no request."""
    async with open_session_service_host(kind, tmp_path, clear=clear) as host:
        await host.send("one")
        await host.engine.sweep(force=True)
        await say_past_memory(host, "two", session=SESSION_ARGUMENTS["session_id"])
        await say_past_memory(host, "three", session="another")
        found = await host.engine.sweep(force=True)
        again = await host.engine.sweep(force=True)
        await say_past_memory(host, "four", session="another")
        last = await host.engine.sweep(force=True)

    assert sorted(host.learned_texts[1:3]) == ["three", "two"]
    assert [host.learned_texts[0], *host.learned_texts[3:]] == ["one", "four"]
    assert [report.consolidated for report in (found, again, last)] == [2, 0, 1]


@pytest.mark.usefixtures("manual_sweep")
@pytest.mark.parametrize("kind", SERVICE_KINDS)
async def test_a_session_that_contains_only_commands_has_nothing_that_waits(tmp_path: Path, kind: str) -> None:
    """Not even for the first sweep of an app, which enters the sessions that are older than the ledger."""
    async with open_session_service_host(kind, tmp_path) as host:
        await host.send("/remember I like figs")
        await say_past_memory(host, "one", session="older")
        await host.engine.sweep()
        pending = await host.engine.memory.pending(Scope(APP, USER))
        answer = await host.send("/memory")

    assert [each.key.session for each in pending if each.messages] == ["older"]
    assert "This conversation waits" not in answer


@pytest.mark.usefixtures("manual_sweep")
async def test_a_message_found_during_another_process_turn_is_learned_after_it(tmp_path: Path) -> None:
    """A command holds the conversation when the sweep finds the message; the session does not change again."""
    async with open_session_service_host("database", tmp_path) as host:
        await host.send("one")
        await host.engine.sweep(force=True)
        await say_past_memory(host, "two", session=SESSION_ARGUMENTS["session_id"])
        lease = host.engine.turns.new_lease(SessionKey(APP, USER, SESSION_ARGUMENTS["session_id"]))
        await host.engine.turns.acquire(lease)
        during = await host.engine.sweep(force=True)
        await host.engine.turns.release(lease)
        after = await host.engine.sweep(force=True)

    assert (during.consolidated, after.consolidated) == (0, 1)
    assert host.learned_texts == ["one", "two"]


@pytest.mark.usefixtures("manual_sweep")
async def test_a_process_that_ends_before_it_creates_the_session_leaves_nothing_that_waits(tmp_path: Path) -> None:
    """Its message was not stored, so no sweep may look for it; the next turn of the conversation is learned."""
    key = SessionKey(APP, USER, SESSION_ARGUMENTS["session_id"])
    async with open_session_service_host("database", tmp_path) as host:
        lease = host.engine.turns.new_lease(key)
        begun = await host.engine.turns.acquire(lease, counts_turn=True)
        claimed = host.engine.turns.claim_turn(lease)
        swept = await host.engine.sweep(force=True)
        pending = await host.engine.memory.pending(Scope(APP, USER))
        await host.engine.turns.release(lease)
        await host.send("one")
        await host.engine.sweep(force=True)

    assert begun.turn.turn_no == 0
    assert claimed is None
    assert (swept.failed, pending) == (0, [])
    assert host.learned_texts == ["one"]


@pytest.mark.usefixtures("manual_sweep")
async def test_a_new_process_does_not_extract_messages_learned_before(tmp_path: Path) -> None:
    """It checks all sessions once, including cleared ones and those with nothing to learn."""
    async with open_session_service_host("database", tmp_path) as host:
        await host.send("one")
        await host.send("/help", session="command")
        await host.engine.sweep(force=True)
    async with open_session_service_host("database", tmp_path) as host:
        # A plugin knows the session service from the first turn on.
        await host.send("new", session="new")
        report = await host.engine.sweep(force=True)
        await say_past_memory(host, "two", session=SESSION_ARGUMENTS["session_id"])
        await host.engine.sweep(force=True)

    assert report.consolidated == 1
    assert host.learned_texts == ["new", "two"]
