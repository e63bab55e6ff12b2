"""Copies databases while processes use them, and reads what can be read of a damaged one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from gaia_memory.database.sqlite import has_log, is_read_only
from gaia_memory.errors import MemoryUnavailable

FileConnection = sqlite3.Connection

PAGES_PER_STEP = 2_000
"""Pages copied between two calls of the progress: 8 MB."""

_BUSY_TIMEOUT_SECONDS = 15.0
_DAMAGED_REMEDY = "run `gaia doctor`, and restore an earlier backup"


def copy_databases(copies: Mapping[Path, Path], progress: Callable[[int, int], None]) -> None:
    """Copy databases as they are at nearly one moment, in this order; writers go on meanwhile. Blocking.

    Each copy is one file without a log, readable by its owner alone.

    Raises:
        MemoryUnavailable: a database is damaged or cannot be read.
    """
    snapshots: dict[Path, sqlite3.Connection] = {}
    try:
        for path in copies:
            snapshots[path] = _open_snapshot(path)
        for path, target in copies.items():
            try:
                _copy(snapshots[path], target, progress)
            except sqlite3.Error as error:
                raise MemoryUnavailable(f"{path} is damaged ({error})", remedy=_DAMAGED_REMEDY) from error
    finally:
        for connection in snapshots.values():
            connection.close()


def _open_snapshot(path: Path) -> sqlite3.Connection:
    """Return a connection in a read transaction, which sees nothing that is written later."""
    mode = "mode=ro&immutable=1" if is_read_only(path) and not has_log(path) else "mode=rw"
    address = f"{path.absolute().as_uri()}?{mode}"
    connection = None
    try:
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise MemoryUnavailable(f"{path} is damaged or cannot be read ({error})", remedy=_DAMAGED_REMEDY) from error
    return connection


def _copy(source: sqlite3.Connection, target: Path, progress: Callable[[int, int], None]) -> None:
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:

        def report(_: int, remaining: int, total: int) -> None:
            progress(total - remaining, total)

        source.backup(copy, pages=PAGES_PER_STEP, progress=report, sleep=0)
        # The file needs no log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
        if problem := _find_problem(copy):
            raise sqlite3.DatabaseError(problem)


def find_damage(path: Path) -> str:
    """Return what is wrong with the pages of a database that no process uses; empty if nothing is. Blocking."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return _find_problem(connection)
    except sqlite3.Error as error:
        return str(error)


def _find_problem(connection: sqlite3.Connection) -> str:
    [result] = connection.execute("PRAGMA quick_check(1)").fetchone()
    return "" if result == "ok" else str(result).splitlines()[-1]


def without_log(path: Path) -> None:
    """Make a database that no process uses one file, which may be moved. Blocking."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def delete_rows(path: Path, table: str) -> None:
    """Delete the rows of a table, with their bytes, in a copy that no process uses. Blocking."""
    if read_value(path, f"SELECT count(*) FROM {table}"):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute(f"DELETE FROM {table}")


def read_value(path: Path, statement: str) -> Any:
    """Return the first value of a query to a database that no process uses; None without a row or the table."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            row = connection.execute(statement).fetchone()
        except sqlite3.OperationalError:
            return None
    return None if row is None else row[0]


def read_column(path: Path, statement: str) -> list[Any]:
    """Return the first value of each row of a query to a database that no process uses; none without the table."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [row[0] for row in read_rows(connection, statement)[0]]


def read_rows(connection: sqlite3.Connection | None, statement: str) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the rows of a query up to the first damaged page, and whether these are all.

    A missing table has none; of a database that could not be opened, None, no row is known.
    """
    rows: list[tuple[Any, ...]] = []
    if connection is None:
        return rows, False
    try:
        rows.extend(connection.execute(statement))
    except sqlite3.DatabaseError as error:
        return rows, "no such table" in str(error)
    return rows, True
