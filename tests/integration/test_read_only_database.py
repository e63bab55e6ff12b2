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


def test_a_database_in_use_is_read_beside_its_writer(written: tuple[Path, sqlite3.Connection]) -> None:
    """The content of the write-ahead log is visible, and the writer continues."""
    path, connection = written
    before = state(path.parent)
    found = check_database_file(path)
    after = state(path.parent)
    connection.execute("INSERT INTO t VALUES ('more')")
    connection.commit()

    assert (found.is_present, found.problem, found.tables, found.is_checked) == (True, "", {"t"}, True)
    assert after == before


def test_reading_a_closed_database_creates_no_file_beside_it(written: tuple[Path, sqlite3.Connection]) -> None:
    """SQLite would create its log and its shared memory even for a reader."""
    path, connection = written
    connection.close()
    before = state(path.parent)

    assert set(before) == {"memory.db"}
    assert check_database_file(path).tables == {"t"}
    assert state(path.parent) == before


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


def test_a_problem_with_a_file_is_reported(written: tuple[Path, sqlite3.Connection], tmp_path: Path) -> None:
    """A damaged page, a file of another kind, a folder, a locked file; a missing file is no problem."""
    path, connection = written
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    damaged, other, locked = (tmp_path / name for name in ("damaged.db", "other.db", "locked.db"))
    damaged.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:])
    other.write_bytes(b"no database" * 1000)
    locked.write_bytes(whole)
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(locked)) as keeper:
        keeper.execute("PRAGMA locking_mode=EXCLUSIVE")
        keeper.execute("INSERT INTO t VALUES ('mine')")
        keeper.commit()
        is_locked = check_database_file(locked)

    assert check_database_file(damaged).problem
    assert "xxx" not in check_database_file(damaged).problem
    assert check_database_file(other).problem == "file is not a database"
    assert "not a regular file" in check_database_file(tmp_path).problem
    assert is_locked.problem == "database is locked"
    assert (
        check_database_file(tmp_path / "none.db").is_present,
        check_database_file(tmp_path / "none.db").problem,
    ) == (False, "")
    assert (
        check_database_file(tmp_path / "empty.db").is_present,
        check_database_file(tmp_path / "empty.db").problem,
    ) == (True, "")


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
