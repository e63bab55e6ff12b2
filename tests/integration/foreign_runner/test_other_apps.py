"""One sweep learns for every app with sessions in the configured database, with or without its Runner here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from gaia_memory import MemoryPlugin, Scope, open_memory
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.testing import FakeClock
from support.hosts.plain_runner import build_runner, run_turn

SHOP, CLUB = "shop", "club"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a gaia.yaml as `gaia init` writes it for several agents: it names one of them as the app."""
    path = tmp_path / "gaia.yaml"
    path.write_text(yaml.safe_dump({"app": CLUB}))
    return path


def home_of(config: Path) -> Path:
    """Return the home that the environment of every test names."""
    return config.parent / "gaia"


@pytest.fixture
async def stored(config: Path) -> AsyncIterator[DatabaseSessionService]:
    """Return the host's own service over the session database that the configuration names."""
    home = home_of(config)
    home.mkdir(exist_ok=True)
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{home / 'sessions.db'}")
    yield service
    await service.close()


async def talk_in(app: str, config: Path, sessions: BaseSessionService, text: str) -> None:
    """Run one turn of an app in its own Runner, and close it before anything can be learned."""
    runner = build_runner(MemoryPlugin(config=config), sessions=sessions, app=app)
    await run_turn(runner, text)
    await runner.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.05)


async def texts_of(config: Path, app: str) -> list[str]:
    """Return the texts of the user's facts in an app."""
    memory = Mem0MemoryService(config=config)
    entries = await memory.list_memories(app_name=app, user_id="ada")
    return [part.text or "" for entry in entries for part in entry.content.parts or []]


async def test_a_sweep_learns_for_an_app_whose_runner_is_elsewhere(config: Path, stored: DatabaseSessionService):
    """`gaia sweep` runs beside `adk web`, and the configuration names only one of its agents."""
    await talk_in(SHOP, config, stored, "My sister is called Noa.")

    async with open_memory(config) as gaia:
        await gaia.sweep(force=True)
        facts = [fact.text for fact in await gaia.memory.facts(Scope(SHOP, "ada"))]
        status = await gaia.memory.status(Scope(SHOP, "ada"))

    assert any("Noa" in text for text in facts)
    assert status.state == "ok", status.reason
    session = await stored.get_session(app_name=SHOP, user_id="ada", session_id="s1")
    assert session is not None, "another host's session was deleted"
    assert not any(event.actions.rewind_before_invocation_id for event in session.events)


async def test_after_a_restart_the_first_turn_of_any_app_starts_learning_for_all(
    config: Path, stored: DatabaseSessionService
):
    """A rarely used agent must not wait for its own next message."""
    await talk_in(SHOP, config, stored, "My sister is called Noa.")
    config.write_text(yaml.safe_dump({"app": CLUB, "sessions": {"idle_consolidate_minutes": 0.001}}))

    club = build_runner(MemoryPlugin(config=config), sessions=stored, app=CLUB)
    await run_turn(club, "Hello.")

    async def is_learned() -> bool:
        return any("Noa" in text for text in await texts_of(config, SHOP))

    await until(is_learned)
    await club.close()


async def test_a_conversation_missing_from_the_configured_database_waits_for_its_host(config: Path):
    """It may be in the memory of a running process: it must not count as deleted, however old it is."""
    clock = FakeClock()
    await talk_in(SHOP, config, InMemorySessionService(), "My sister is called Noa.")

    async with open_memory(config, clock=clock) as gaia:
        clock.advance(timedelta(days=30))
        await gaia.sweep(force=True)
        waiting = (await gaia.memory.status(Scope(SHOP, "ada"))).pending

    assert [pending.key.app for pending in waiting] == [SHOP]


async def test_a_conversation_missing_from_a_database_with_others_is_not_given_up(
    config: Path, stored: DatabaseSessionService
):
    """The app keeps one session in the configured database and another one elsewhere."""
    clock = FakeClock()
    elsewhere = InMemorySessionService()
    runner = build_runner(MemoryPlugin(config=config), sessions=elsewhere, app=SHOP)
    await run_turn(runner, "My sister is called Noa.", session="a")
    await runner.close()
    runner = build_runner(MemoryPlugin(config=config), sessions=stored, app=SHOP)
    await run_turn(runner, "I live in Haifa.", session="z")
    await runner.close()

    async with open_memory(config, clock=clock) as gaia:
        clock.advance(timedelta(days=30))

        async def is_learned() -> bool:
            await gaia.sweep(force=True)
            return any("Haifa" in fact.text for fact in await gaia.memory.facts(Scope(SHOP, "ada")))

        await until(is_learned)
        await gaia.sweep(force=True)
        [waiting] = (await gaia.memory.status(Scope(SHOP, "ada"))).pending

    assert (waiting.key.session, waiting.attempts > 0) == ("a", True)


async def test_no_session_database_is_created_for_a_host_that_has_its_own(config: Path):
    """The additional search must leave no files behind."""
    await talk_in(SHOP, config, InMemorySessionService(), "Hello.")
    runner = build_runner(MemoryPlugin(config=config), app=CLUB)
    await run_turn(runner, "Hello.")
    await until(lambda: _has_swept(config))
    await runner.close()

    home = home_of(config)
    assert (home / "memory.db").exists()
    assert not (home / "sessions.db").exists()


async def _has_swept(config: Path) -> bool:
    memory = Mem0MemoryService(config=config)
    async with memory.source.use_engine() as engine, engine.database.read_transaction() as tx:
        return await engine.ledger.is_bootstrapped(tx, CLUB)
