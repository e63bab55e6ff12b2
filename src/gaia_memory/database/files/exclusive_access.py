"""Keeps every other process, and every other part of this one, away from SQLite files that are being replaced."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gaia_memory.database.files.open_file import DAMAGE_MESSAGES
from gaia_memory.errors import MemoryUnavailable

_TIMEOUT_SECONDS = 1.0


@contextmanager
def exclusive_access(paths: list[Path]) -> Iterator[dict[Path, sqlite3.Connection]]:
    """Lock the files that exist until the end of the block, each by one connection; a damaged file has none.

    Each is then a single file without a write-ahead log, which may be replaced by another one.

    Raises:
        MemoryUnavailable: a process has one of them open.
    """
    connections: dict[Path, sqlite3.Connection] = {}
    try:
        for path in paths:
            if path.exists() and (connection := _lock(path)) is not None:
                connections[path] = connection
        yield connections
    finally:
        for connection in connections.values():
            connection.close()


def _lock(path: Path) -> sqlite3.Connection | None:
    connection = sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)
    try:
        # A process with an open connection keeps a shared lock on a file with a write-ahead log.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("BEGIN EXCLUSIVE")
        # The journal of that change is over. At its end the connection would delete the one of the next file here.
        Path(f"{path}-journal").unlink(missing_ok=True)
    except sqlite3.DatabaseError as error:
        connection.close()
        if any(words in str(error) for words in DAMAGE_MESSAGES):
            return None
        raise MemoryUnavailable(
            f"{path} is in use or cannot be written ({error}), and nothing was changed",
            remedy="stop every process that uses this home, such as agents, `gaia chat` and `adk web`",
        ) from error
    return connection
