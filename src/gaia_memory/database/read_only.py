"""Read-only access to a database: nothing is created, migrated or written back."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from gaia_memory.database import sqlite
from gaia_memory.database.sql_engine import open_engine, sqlite_engine
from gaia_memory.database.sqlite import ReadOnlyConnection, has_log

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

CONNECT_TIMEOUT_SECONDS = 5
CHECK_TIMEOUT_SECONDS = 20.0
"""Maximum duration of a file check; a gigabyte takes a few seconds."""

_PROGRESS_INSTRUCTIONS = 10_000


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a SQLite file; `problem` is empty if there is none.

    `is_checked` is False if the page check timed out or there was nothing to check.
    """

    path: Path
    is_present: bool
    problem: str = ""
    tables: frozenset[str] = frozenset()
    is_checked: bool = False


def database_path(url: str) -> Path | None:
    """Return the file of a normalized URL, None for a server."""
    return sqlite.database_path(make_url(url))


def open_read_only(url: str) -> AsyncEngine:
    """Return an engine that only reads; a missing SQLite file is not created.

    Raises:
        ConfigError: the driver is not installed.
    """
    path = database_path(url)
    if path is None:
        return open_engine(url, connect_args={"timeout": CONNECT_TIMEOUT_SECONDS}, poolclass=NullPool)
    return sqlite_engine(make_url(url), ReadOnlyConnection, poolclass=NullPool, hide_parameters=True)


def check_database_file(path: Path, *, timeout_seconds: float = CHECK_TIMEOUT_SECONDS) -> FileState:
    """Check that a SQLite file is readable and all of its pages are intact. Blocking.

    A problem is reported in SQLite's words, which contain no stored text.
    """
    was_in_use = has_log(path)
    try:
        if not path.exists():
            return FileState(path, False)
        if not path.is_file():
            return FileState(path, True, "it is not a regular file")
        tables, is_checked, problem = _check_pages(path, timeout_seconds)
    except (sqlite3.Error, OSError) as error:
        tables, is_checked, problem = frozenset[str](), False, str(error) or type(error).__name__
    if problem and not was_in_use and has_log(path):
        # Another process opened it meanwhile, so it was not immutable.
        return check_database_file(path, timeout_seconds=timeout_seconds)
    return FileState(path, True, problem, tables, is_checked)


def _check_pages(path: Path, timeout_seconds: float) -> tuple[frozenset[str], bool, str]:
    deadline = time.monotonic() + timeout_seconds
    with closing(ReadOnlyConnection(path)) as connection:
        tables = frozenset(name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'"))
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_INSTRUCTIONS)
        try:
            [result] = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                return tables, False, ""
            raise
    return tables, True, "" if result == "ok" else str(result).splitlines()[-1]
