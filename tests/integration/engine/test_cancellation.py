"""A database whose caller is cancelled, or whose event loop ends, in the middle of it: at each await."""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL

from gaia_memory.database.connections import dispose
from gaia_memory.database.sql_engine import SqlDatabase, open_database, open_engine
from gaia_memory.facts import SqlOutbox
from support.concurrency.cancellation import cancel_at_step, stop_loop_at_step
from support.databases import on_each_database, shared_postgres_url

WAIT_SECONDS = 12.0
"""Less than SQLite waits for a lock."""

outbox = SqlOutbox()


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """Return what gives all complaints so far, once nothing is left to be collected."""
    heard: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda failed: heard.append(repr(failed.exc_value)))

    def all_of_them() -> list[str]:
        gc.collect()
        logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        return heard + logged + [str(warning.message) for warning in warned]

    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield all_of_them
        gc.collect()


@pytest.fixture
def url(tmp_path: Path) -> URL:
    """Return the address of a SQLite file with our tables."""
    address = URL.create("sqlite+aiosqlite", database=str(tmp_path / "memory.db"))

    async def made() -> None:
        await (await open_database(address, home=tmp_path)).close()

    asyncio.run(made())
    return address


async def read(database: SqlDatabase) -> None:
    async with database.read_transaction() as tx:
        await outbox.store(tx)


async def write(database: SqlDatabase) -> None:
    async with database.transaction() as tx:
        await outbox.register_waiter(tx, until=1.0)
        await outbox.store(tx)


async def scrub(database: SqlDatabase) -> None:
    await database.scrub()


def cut_everywhere(work: Callable[[], Any]) -> int:
    """Let the loop end at each await of the work, one after the other; return how many there were."""
    at = 1
    while stop_loop_at_step(work, at):
        at += 1
    return at


@pytest.mark.parametrize("use", [read, write, scrub])
def test_a_loop_that_ends_in_the_middle_of_a_database_leaves_nothing_behind(
    url: URL, complaints: Callable[[], list[str]], use: Callable[[SqlDatabase], Any]
) -> None:
    """No connection is lost to the pool, and none is closed with an error: also not while it is all closed."""

    async def work() -> None:
        database = SqlDatabase(open_engine(url))
        try:
            await use(database)
        finally:
            await database.close()

    assert cut_everywhere(work) > 10
    assert complaints() == []


def test_sqlalchemys_own_way_to_give_a_connection_back_is_lost_where_a_loop_ends(
    url: URL, complaints: Callable[[], list[str]]
) -> None:
    """Once it is not, `connected` can be `engine.connect()` again."""

    async def work() -> None:
        engine = open_engine(url)
        try:
            async with engine.connect() as connection:
                await connection.execute(text("SELECT 1"))
        finally:
            await dispose(engine)

    cut_everywhere(work)

    assert any("non-checked-in connection" in complaint for complaint in complaints())


@asynccontextmanager
async def two(kind: str, url: URL, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[list[SqlDatabase]]:
    """Open a database twice, as two processes do."""
    address = url if kind == "sqlite" else await shared_postgres_url(request.config)
    opened = [await open_database(address, home=folder) for _ in range(2)]
    yield opened
    for database in opened:
        await database.close()


@on_each_database
@pytest.mark.parametrize("use", [read, write])
def test_one_that_is_cancelled_in_a_database_keeps_nobody_waiting(
    kind: str, use: Callable[[SqlDatabase], Any], url: URL, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Wherever it was: others write at once, in this process and in another one, and no log is kept in use."""

    async def everywhere() -> None:
        async with two(kind, url, request, tmp_path) as databases:
            at, was_reached, kept = 1, True, []
            while was_reached:
                was_reached, outcome = await cancel_at_step(lambda: use(databases[0]), at)
                # A host may keep the error with its traceback, and all that hangs on it.
                kept.append(outcome)
                async with asyncio.timeout(WAIT_SECONDS):
                    for database in databases:
                        await write(database)
                    assert kind != "sqlite" or await databases[1].scrub()
                at += 1
            assert at > 5

    asyncio.run(everywhere())


def test_a_connection_of_python_that_is_closed_over_a_query_keeps_its_locks(tmp_path: Path) -> None:
    """Once it does not, `CursorClosingConnection` can go."""
    one = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    one.execute("CREATE TABLE x AS SELECT 1 UNION SELECT 2")
    one.execute("BEGIN IMMEDIATE")
    unread = one.execute("SELECT * FROM x")
    one.close()

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(tmp_path / "x.db", isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
    assert unread is not None
