"""Inspecting a database changes nothing, whatever its state."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from gaia_memory.database.migrate import schema_version
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.read_only import check_database_file, open_read_only
from gaia_memory.database.sql_engine import Database, open_database
from gaia_memory.errors import MemoryUnavailable

State = dict[str, tuple[int, int, int]]


def state(folder: Path) -> State:
    """Return every file with its size, modification time and permissions."""
    found = {path.name: path.stat() for path in folder.iterdir()}
    return {name: (stat.st_size, stat.st_mtime_ns, stat.st_mode) for name, stat in found.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with characters in its name that have a meaning in a URL."""
    made = tmp_path / "a b#1"
    made.mkdir()
    return made


@pytest.fixture
def written(folder: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Return a database with a write-ahead log, and the connection that has it open."""
    path = folder / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 100)
        connection.commit()
        yield path, connection


def test_the_log_left_by_a_crash_is_read_and_left_in_place(
    written: tuple[Path, sqlite3.Connection], tmp_path: Path
) -> None:
    """The next start merges it into the file; an inspection does not."""
    crashed = tmp_path / "crashed"
    shutil.copytree(written[0].parent, crashed)
    before = state(crashed)
    found = check_database_file(crashed / "memory.db")
    after = state(crashed)

    assert (found.problem, found.tables) == ("", {"t"})
    assert {name: after[name] for name in ("memory.db", "memory.db-wal")} == {
        name: before[name] for name in ("memory.db", "memory.db-wal")
    }


def test_a_check_that_takes_too_long_is_aborted(written: tuple[Path, sqlite3.Connection]) -> None:
    """A large file is no damaged file."""
    path, connection = written
    connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 20_000)
    connection.commit()
    found = check_database_file(path, timeout_seconds=0.0)

    assert (found.problem, found.is_checked, found.tables) == ("", False, {"t"})


async def test_read_only_queries_create_and_change_nothing(folder: Path) -> None:
    """A missing file stays missing; an existing one can be queried, and not written."""
    url = f"sqlite+aiosqlite:///{folder / 'memory.db'}"
    missing = open_read_only(url)
    with pytest.raises(MemoryUnavailable):
        async with Database(missing).read_transaction():
            raise AssertionError
    nothing = list(folder.iterdir())
    await (await open_database(url, home=folder)).close()
    before = state(folder)
    engine = open_read_only(url)
    version = await schema_version(engine)
    async with Database(engine).read_transaction() as tx:
        count = (await tx.execute(text("SELECT count(*) FROM gaia_facts"))).scalar_one()
    with pytest.raises(OperationalError, match="readonly"):
        async with engine.connect() as connection:
            await connection.execute(text("DELETE FROM gaia_facts"))
    await engine.dispose()

    assert nothing == []
    assert (version, count) == (REVISIONS[-1], 0)
    assert state(folder) == before
