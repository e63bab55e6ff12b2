"""Database operations whose caller is cancelled, or whose event loop ends, at each await."""

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
from gaia_memory.database.sql_engine import Database, open_database, open_engine
from gaia_memory.facts import Outbox
from support.concurrency.cancellation import cancel_at_step, stop_loop_at_step
from support.databases import on_each_database, shared_postgres_url

WAIT_SECONDS = 12.0
"""Less than SQLite waits for a lock."""

outbox = Outbox()


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """Return a function that returns all warnings so far, after garbage collection."""
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


async def read(database: Database) -> None:
    async with database.read_transaction() as tx:
        await outbox.store(tx)


async def write(database: Database) -> None:
    async with database.transaction() as tx:
        await outbox.release_store(tx, "nobody")
        await outbox.store(tx)


async def scrub(database: Database) -> None:
    await database.scrub()


def cut_everywhere(work: Callable[[], Any]) -> int:
    """End the loop at each await of the work, one after the other; return how many there were."""
    at = 1
    while stop_loop_at_step(work, at):
        at += 1
    return at


@pytest.mark.parametrize("use", [write, read, scrub])
def test_a_loop_that_ends_during_a_database_operation_leaves_nothing_behind(
    url: URL, complaints: Callable[[], list[str]], use: Callable[[Database], Any]
) -> None:
    """The pool loses no connection, and none is closed with an error, not even while the database is closed."""

    async def work() -> None:
        database = Database(open_engine(url))
        try:
            await use(database)
        finally:
            await database.close()

    assert cut_everywhere(work) > 10
    assert complaints() == []


@pytest.mark.slow
def test_sqlalchemy_still_loses_a_connection_when_a_loop_ends(url: URL, complaints: Callable[[], list[str]]) -> None:
    """Once this fails, `connected` can be `engine.connect()` again."""

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
async def two(kind: str, url: URL, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[list[Database]]:
    """Open a database twice, as two processes would."""
    address = url if kind == "sqlite" else await shared_postgres_url(request.config)
    opened = [await open_database(address, home=folder) for _ in range(2)]
    yield opened
    for database in opened:
        await database.close()


@on_each_database
@pytest.mark.parametrize("use", [read, write])
def test_a_cancelled_database_operation_blocks_no_other(
    kind: str, use: Callable[[Database], Any], url: URL, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """At any await: others can write at once, in this process and in another one, and the log is released."""

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


def test_pythons_own_connection_still_keeps_its_locks_when_closed_during_a_query(tmp_path: Path) -> None:
    """So `OneTripCursor` closes each query at once. Once this fails, it need not."""
    one = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    one.execute("CREATE TABLE x AS SELECT 1 UNION SELECT 2")
    one.execute("BEGIN IMMEDIATE")
    unread = one.execute("SELECT * FROM x")
    one.close()

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(tmp_path / "x.db", isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
    assert unread is not None
