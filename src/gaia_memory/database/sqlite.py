"""How a SQLite file is made and opened: for its owner only, with what deletes for good and survives a crash."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, Engine

BUSY_TIMEOUT_SECONDS = 15
READ_ONLY_OPTION = "read_only"
"""The execution option of a reader. ADK's session service sets the same one where it only reads."""
NO_TRANSACTION_OPTION = "gaia_no_transaction"
"""The execution option of a statement that SQLite refuses inside a transaction."""

_PRAGMAS = (
    f"busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}",
    "foreign_keys=ON",
    "secure_delete=ON",
    "synchronous=FULL",
)
_WAL_ATTEMPTS = 100


class CursorClosingConnection(sqlite3.Connection):
    """A connection that ends what was begun in it when it is closed.

    SQLite keeps a closed connection, with its locks, as long as a query of it was not read to its end. One that was
    cancelled lives on in a traceback that somebody keeps, and nobody else could write until that is gone.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """Return a new cursor."""
        cursor = super().cursor(*arguments, **options)
        self._cursors.add(cursor)
        return cursor

    def close(self) -> None:
        """Close it and all of its cursors."""
        for cursor in list(self._cursors):
            cursor.close()
        super().close()


def database_path(url: URL) -> Path | None:
    """Return the file a SQLite URL names, None for a database in memory."""
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name)


def connection_factory(url: URL) -> Callable[[], sqlite3.Connection]:
    """Return what opens the database. It blocks: call it in the thread that will use the connection."""
    arguments, options = url.get_dialect()().create_connect_args(url)
    connect_options: dict[str, Any] = {**options, "isolation_level": None, "factory": CursorClosingConnection}
    path = database_path(url)

    def connect() -> sqlite3.Connection:
        if path is not None:
            _create(path)
        connection: sqlite3.Connection = sqlite3.connect(arguments[0], **connect_options)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            _enable_wal(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    return connect


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives the write-ahead log and the shared memory file the mode of the database.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


def _enable_wal(connection: sqlite3.Connection) -> None:
    # Two processes that make the same new file at once: the change of mode does not wait for a lock by itself.
    for remaining in reversed(range(_WAL_ATTEMPTS)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if not remaining:
                raise
            time.sleep(0.05)
        else:
            return


def begin_explicitly(engine: Engine) -> None:
    """Make every transaction of `engine` a writer's from its first statement, unless it says it only reads.

    A transaction that reads first and asks for the lock at its first write fails, or loses what another
    process wrote in between.
    """

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get(NO_TRANSACTION_OPTION):
            return
        connection.exec_driver_sql("BEGIN" if options.get(READ_ONLY_OPTION) else "BEGIN IMMEDIATE")
