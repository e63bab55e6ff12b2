"""ADK's session service on an engine of ours: its writers queue, its readers do not."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from gaia_memory.adk.sessions.session_service import RaceSafeSessionService
from gaia_memory.database import sqlite
from gaia_memory.database.connections import dispose
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.database.sqlite import READ_ONLY_OPTION


async def test_more_writers_than_connections_write_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None meets SQLite's lock, whose time-out is zero here."""
    engine = open_engine(f"sqlite:///{tmp_path / 'sessions.db'}")
    service = RaceSafeSessionService(db_engine=engine)
    await service.prepare_tables()
    await dispose(engine)
    monkeypatch.setattr(sqlite, "_PRAGMAS", ("busy_timeout=0", "foreign_keys=ON"))
    people = [f"user{number}" for number in range(40)]
    await asyncio.gather(*(service.create_session(app_name="a", user_id=user, session_id="s") for user in people))
    found = [await service.get_session(app_name="a", user_id=user, session_id="s") for user in people]
    await dispose(engine)

    assert None not in found


async def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """The writer's transaction is open meanwhile, and a cancelled writer behind it holds nothing."""
    engine = open_engine(f"sqlite:///{tmp_path / 'sessions.db'}")
    async with engine.begin() as writer:
        await writer.execute(text("CREATE TABLE t (x)"))
        behind = asyncio.create_task(engine.begin().__aenter__())
        await asyncio.sleep(0.05)
        behind.cancel()
        await asyncio.gather(behind, return_exceptions=True)
        async with engine.connect() as reader:
            await reader.execution_options(**{READ_ONLY_OPTION: True})
            assert (await reader.execute(text("SELECT count(*) FROM sqlite_schema"))).scalar_one() == 0
    async with asyncio.timeout(5), engine.begin() as next_writer:
        await next_writer.execute(text("INSERT INTO t VALUES (1)"))
    await dispose(engine)


async def test_a_strangers_lock_turns_all_waiting_writers_away_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not wait for its time-out one after the other."""
    monkeypatch.setattr(sqlite, "_PRAGMAS", ("busy_timeout=500",))
    engine = open_engine(f"sqlite:///{tmp_path / 'sessions.db'}")
    attempts = list[int]()

    async def write(number: int) -> None:
        async with engine.begin() as tx:
            attempts.append(number)
            await tx.execute(text("CREATE TABLE IF NOT EXISTS t (x)"))

    await write(0)
    stranger = sqlite3.connect(tmp_path / "sessions.db", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    async with asyncio.timeout(6):
        refused = await asyncio.gather(*(write(number) for number in range(12)), return_exceptions=True)
    stranger.close()
    await write(1)
    await dispose(engine)

    assert all(isinstance(error, OperationalError) and "locked" in str(error) for error in refused)
    assert attempts == [0, 1]
