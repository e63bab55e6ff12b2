"""Engines shared by the parts of a process: opened once, closed once, and one part's failure affects no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import engine_registry
from gaia_memory.config.sources.load import LoadedConfig, load
from gaia_memory.engine import Engine
from gaia_memory.engine_registry import EngineSource, open_engine


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[engine_registry._Registry]:
    """Hide engines that another test left open."""
    fresh = engine_registry._Registry(is_atexit_registered=True)
    monkeypatch.setattr(engine_registry, "_registry", fresh)
    yield fresh
    assert fresh.entries == {}


async def loaded(home: Path) -> LoadedConfig:
    return await asyncio.to_thread(load, {"memory": {"auto_ingest": False}}, home=home)


async def test_a_memory_that_failed_to_open_does_not_affect_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller was gone when it failed, so no caller could remove it from the registry."""
    good, bad = await loaded(tmp_path / "good"), await loaded(tmp_path / "bad")
    go_on = asyncio.Event()

    async def fails(*_: Any, **__: Any) -> Engine:
        await go_on.wait()
        raise RuntimeError("cannot be opened")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "open", fails)
        impatient = asyncio.create_task(EngineSource(bad).acquire())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    async with open_engine(good) as engine:
        go_on.set()
        await asyncio.sleep(0.01)

        assert await EngineSource(good).engine() is engine


async def test_an_abandoned_opening_leaves_no_engine_open(tmp_path: Path) -> None:
    """A cancelled caller never releases the engine."""
    config = await loaded(tmp_path / "home")
    impatient = asyncio.create_task(EngineSource(config).acquire())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)

    async with open_engine(config):
        pass


async def test_two_concurrent_first_hooks_acquire_the_engine_once(
    tmp_path: Path, shared: engine_registry._Registry
) -> None:
    """A part releases its engine once, so it must not have acquired it twice."""
    source = EngineSource(await loaded(tmp_path / "home"))

    first, second = await asyncio.gather(source.acquire(), source.acquire())
    await source.release()

    assert first is second
    assert shared.entries == {}


async def test_an_engine_with_an_unavailable_database_closes_quietly_and_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases expire by themselves, so closing is no reason to fail."""
    source = EngineSource(await loaded(tmp_path / "home"))
    engine = await source.acquire()
    closed = _closed(engine, monkeypatch)
    asked: list[str] = []

    async def away(*_: Any) -> None:
        asked.append("leases")
        raise OSError("away")

    monkeypatch.setattr(engine.ledger, "release_all", away)
    await source.release()

    assert asked == ["leases"]
    assert closed == ["backend", "database"]


def _closed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the parts, in the order in which they are closed."""
    closed: list[str] = []
    backend, database = engine.backend.close, engine.database.close

    async def close_backend() -> None:
        closed.append("backend")
        await backend()

    async def close_database() -> None:
        closed.append("database")
        await database()

    monkeypatch.setattr(engine.backend, "close", close_backend)
    monkeypatch.setattr(engine.database, "close", close_database)
    return closed
