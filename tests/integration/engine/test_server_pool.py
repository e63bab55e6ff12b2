"""The connections and transactions of a database server, however strict its settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL

from gaia_memory import open_memory
from gaia_memory.database.pooling import server_engine
from gaia_memory.database.pooling.conflicts import retries_conflicts
from gaia_memory.database.sql_engine import open_database, open_engine
from gaia_memory.errors import MemoryUnavailable
from support.databases import memory_url


async def administer(url: URL, statement: str) -> Any:
    """Run a statement, and return its first value."""
    engine = open_engine(url)
    async with engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        result = await connection.execute(text(statement))
        value = result.scalar() if result.returns_rows else None
    await engine.dispose()
    return value


@asynccontextmanager
async def opened(url: URL, folder: Path, **sessions: Any) -> AsyncIterator[Any]:
    """Open memory with sessions and facts on a server."""
    address = url.render_as_string(hide_password=False)
    async with open_memory({"sessions": {"database_url": address, **sessions}}, home=folder / "home") as gaia:
        yield gaia


async def test_simultaneous_writes_of_one_person_succeed_where_the_server_is_strict(tmp_path: Path) -> None:
    """The server's default would refuse most of them."""
    async with memory_url("postgresql", tmp_path) as url:
        await administer(url, f'ALTER DATABASE "{url.database}" SET default_transaction_isolation TO serializable')
        async with opened(url, tmp_path) as gaia:
            scope = gaia.scope("ann")
            await asyncio.gather(*(gaia.memory.remember(scope, f"has a cat number {n}") for n in range(12)))
            count = len(await gaia.memory.facts(scope))

    assert count == 12


async def test_the_pool_is_as_large_as_the_configuration_says(tmp_path: Path) -> None:
    """A call that finds no free connection in time says that the database does not answer."""
    limits = {"server_connections": 1, "server_wait_seconds": 0.2}
    async with memory_url("postgresql", tmp_path) as url, opened(url, tmp_path, **limits) as gaia:
        database = gaia.engine.database
        async with database.read_transaction():
            with pytest.raises(MemoryUnavailable, match="the memory database does not answer"):
                async with database.read_transaction():
                    raise AssertionError("there was a second connection")
        assert gaia.engine.sessions_engine() is database.engine


async def test_a_connection_that_the_server_ended_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was idle is tested before it is used again."""
    monkeypatch.setattr(server_engine, "IDLE_SECONDS", 0.0)
    others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
    async with memory_url("postgresql", tmp_path) as url:
        database = await open_database(url, home=tmp_path)
        async with database.single_statement(only_reads=True) as tx:
            assert (await tx.execute(text("SELECT 1"))).scalar_one() == 1
        ended = await administer(url, f"{others} AND pid <> pg_backend_pid()")
        async with database.single_statement(only_reads=True) as tx:
            assert (await tx.execute(text("SELECT 2"))).scalar_one() == 2
        await database.close()

    assert ended >= 1


@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_a_transaction_that_lost_a_conflict_is_tried_again(tmp_path: Path, state: str) -> None:
    """Other failures are not, and a conflict without end is one."""
    tries = dict.fromkeys(("lost once", "lost for ever", "another failure"), 0)

    @retries_conflicts
    async def write(kind: str) -> int:
        tries[kind] += 1
        code = "53200" if kind == "another failure" else state
        async with database.transaction() as tx:
            if kind != "lost once" or tries[kind] == 1:
                await tx.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$"))
        return tries[kind]

    async with memory_url("postgresql", tmp_path) as url:
        database = await open_database(url, home=tmp_path)
        assert await write("lost once") == 2
        for kind in ("lost for ever", "another failure"):
            with pytest.raises(MemoryUnavailable):
                await write(kind)
        await database.close()

    assert (tries["lost for ever"] > 2, tries["another failure"]) == (True, 1)
