"""Statements on SQLite take one trip each to the thread of their connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiosqlite import Connection
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from gaia_memory.database.connections import dispose
from gaia_memory.database.sql_engine import open_engine


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """An engine over a table with 2,500 numbers, inserted by one statement."""
    opened = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    async with opened.begin() as connection:
        await connection.execute(text("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
        await connection.execute(text("INSERT INTO t VALUES (:x)"), [{"x": number} for number in range(2500)])
    yield opened
    await dispose(opened)


async def test_a_write_transaction_takes_a_trip_for_each_statement(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BEGIN, the two statements and the commit; no further trip opens a cursor, fetches rows or closes it."""
    trips: list[Any] = []
    execute: Any = Connection._execute

    async def counting(self: Connection, function: Any, *arguments: Any) -> Any:
        trips.append(function)
        return await execute(self, function, *arguments)

    monkeypatch.setattr(Connection, "_execute", counting)
    async with engine.begin() as connection:
        found = await connection.execute(text("SELECT x FROM t WHERE x < 3"))
        changed = await connection.execute(text("UPDATE t SET x = -x WHERE x < 3 RETURNING x"))

    assert ([x for (x,) in found], [x for (x,) in changed]) == ([0, 1, 2], [0, -1, -2])
    assert len(trips) == 4
