"""A session of the host's own Runner stays as it is, and what learning and `/reset` begin anew in it."""

from pathlib import Path

import pytest
from google.adk.events.event import Event
from google.genai import types
from sqlalchemy import update

from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, metadata_keys
from gaia_memory.engine import Engine
from gaia_memory.ledger.tables import conversations
from support.hosts.session_service_host import USER, SessionServiceHost, open_session_service_host
from support.hosts.session_services import APP

TEN_YEARS_SECONDS = 3650 * 24 * 3600.0


@pytest.fixture(autouse=True)
def manual_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep only when a test asks for it."""
    monkeypatch.setattr(Engine, "start", lambda *_, **__: None)


async def age(engine: Engine) -> None:
    """Make everything that was done in a conversation ten years older."""
    names = ("touched", "cleared_at", "rewound_at", "reset_at")
    async with engine.database.transaction() as tx:
        older = {name: conversations.c[name] - TEN_YEARS_SECONDS for name in names}
        await tx.execute(update(conversations).values(older))


async def said_by_the_host(host: SessionServiceHost) -> list[str]:
    """Return the ids of the session's events, less the commands."""
    session = await host.load_session()
    assert session is not None
    assert not any(event.actions.rewind_before_invocation_id for event in session.events)
    return [event.id for event in session.events if COMMAND_KEY not in metadata_keys(event)]


@pytest.mark.acceptance("I02")
@pytest.mark.parametrize("kind", ["database", "postgresql"])
async def test_learning_writes_nothing_to_a_hosts_session(kind: str, tmp_path: Path) -> None:
    """The host may append to a session that it holds, the next request holds all, and it is never deleted."""
    async with open_session_service_host(kind, tmp_path, retain_days=1) as host:
        await host.send("one")
        held = await host.load_session()
        assert held is not None
        learned = await host.engine.sweep(force=True)
        note = types.Content(role="user", parts=[types.Part(text="from the host")])
        await host.service.append_event(held, Event(author="user", invocation_id="host", content=note))
        await host.send("two")
        prompt = host.last_prompt_lines
        await host.engine.sweep(force=True)
        again = await host.engine.sweep(force=True)
        waiting = (await host.engine.memory.status(host.engine.scope(APP, USER))).pending
        await age(host.engine)
        await host.engine.sweep()
        kept = await host.texts(live=True)

    assert (learned.consolidated, again.consolidated, waiting) == (1, 0, ())
    assert prompt == ["one", "re one", "from the host", "two"]
    assert kept == ["one", "re one", "from the host", "two", "re two"]
    assert host.learned_texts == ["one", "from the host", "two"]


@pytest.mark.acceptance("S12")
@pytest.mark.parametrize("kind", ["database", "sqlite"])
async def test_after_a_reset_no_request_of_a_kept_session_holds_what_was_said_before(kind: str, tmp_path: Path) -> None:
    """Not after a sweep and a restart either; the reset learns first and leaves every event where it was."""
    async with open_session_service_host(kind, tmp_path) as host:
        await host.send("one")
        before = await said_by_the_host(host)
        answer = await host.send("/reset")
        learned = list(host.learned_texts)
        await host.send("two")
        prompt = host.last_prompt_lines
        await host.engine.sweep(force=True)
    async with open_session_service_host(kind, tmp_path) as host:
        await host.send("three")
        after = await said_by_the_host(host)

    assert "fresh start" in answer
    assert learned == ["one"]
    assert prompt == ["two"]
    assert host.last_prompt_lines == ["two", "re two", "three"]
    assert after[: len(before)] == before
