"""SQLite files: private to their owner, with secure deletes and durable commits, and the queue of their writers."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.exc import OperationalError

from gaia_memory.database.files.open_file import BEGIN_WRITE
from gaia_memory.files.private_files import create_private_file

BUSY_TIMEOUT_SECONDS = 15
READ_ONLY_BUSY_TIMEOUT_SECONDS = 2
READ_ONLY_OPTION = "read_only"
"""The execution option of read transactions; ADK's session service sets the same one."""
HAS_TURN_OPTION = "gaia_has_turn"
"""The execution option of transactions whose caller has a turn in the queue of writers already."""
NO_TRANSACTION_OPTION = "gaia_no_transaction"
"""The execution option for statements that stand alone, some of which SQLite refuses inside a transaction."""

_PRAGMAS = (
    f"busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}",
    "foreign_keys=ON",
    "secure_delete=ON",
    "synchronous=FULL",
)
_IN_QUEUE = "gaia_in_queue"
_WAL_ATTEMPTS = 100
_WAL_BYTE = slice(18, 19)
"""The header bytes of a SQLite file that are 2 for a write-ahead log, else 1."""


class PrivateConnection(sqlite3.Connection):
    """A connection that creates its file for the owner only and applies this package's settings.

    Opening it blocks; aiosqlite opens it in the connection's own thread.
    """

    def __init__(self, database: str, **options: Any) -> None:
        if (path := _path_of(database)) is not None:
            _create(path)
        super().__init__(database, **options)
        try:
            for pragma in _PRAGMAS:
                self.execute(f"PRAGMA {pragma}")
            _enable_wal(self)
        except BaseException:
            self.close()
            raise


class ReadOnlyConnection(sqlite3.Connection):
    """A connection that only reads a file. Opening it blocks.

    A file with a write-ahead log that no process has open is opened as immutable; otherwise SQLite would create files
    next to it. After a crash SQLite writes the shared memory file `-shm` and nothing else.
    """

    def __init__(self, database: str | Path, **_: Any) -> None:
        path = Path(database)
        with path.open("rb") as file:
            uses_log = file.read(20)[_WAL_BYTE] == b"\2"
        is_unused = uses_log and not has_log(path)
        address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_unused else ''}"
        timeout = READ_ONLY_BUSY_TIMEOUT_SECONDS
        super().__init__(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
        self.execute(f"PRAGMA busy_timeout={timeout * 1000}")


def has_log(path: Path) -> bool:
    """Return whether a write-ahead log is next to a file: a process has it open, or was killed."""
    # Not `Path.exists`, which raises for a folder without permission.
    return os.path.exists(f"{path}-wal")


def is_read_only(path: Path) -> bool:
    """Return whether a file exists that this process may read but, itself or its folder, not write."""
    return path.is_file() and os.access(path, os.R_OK) and not all(os.access(p, os.W_OK) for p in (path, path.parent))


def database_path(url: URL) -> Path | None:
    """Return the file of a SQLite URL, or None for a database in memory or on a server."""
    return _path_of(url.database or "") if url.get_backend_name() == "sqlite" else None


def _path_of(database: str) -> Path | None:
    return None if database in ("", ":memory:") or database.startswith("file:") else Path(database)


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The write-ahead log and the shared memory file get the mode of the database.
    with suppress(FileExistsError):
        create_private_file(path)


def _enable_wal(connection: sqlite3.Connection) -> None:
    # Two processes may create the same file at once, and the change to WAL does not wait for a lock.
    for remaining in reversed(range(_WAL_ATTEMPTS)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if not remaining:
                raise
            time.sleep(0.05)
        else:
            return


def begin_explicitly(engine: Engine, queue: WriterQueue) -> None:
    """Begin every transaction of `engine` with BEGIN IMMEDIATE, except read-only ones.

    A transaction that takes the write lock only at its first write may fail, or lose the writes of another process. It
    first waits in `queue`, unless its execution options contain `HAS_TURN_OPTION`, and leaves it when its connection
    is returned: by then SQLite has released its lock.
    """

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get(NO_TRANSACTION_OPTION):
            return
        if options.get(READ_ONLY_OPTION):
            connection.exec_driver_sql("BEGIN")
            return
        info = connection.info
        if not options.get(HAS_TURN_OPTION) and _IN_QUEUE not in info:
            connection.connection.dbapi_connection.run_async(lambda _: queue.enter())  # type: ignore[union-attr]
            info[_IN_QUEUE] = True
        try:
            connection.exec_driver_sql(BEGIN_WRITE)
        except OperationalError as error:
            if "locked" in str(error.orig):
                queue.refuse(error)
            raise

    @event.listens_for(engine, "checkin")
    def leave(_: object, record: Any) -> None:
        if record.info.pop(_IN_QUEUE, False):
            queue.leave()


class WriterQueue:
    """Lets one writer of a SQLite engine in at a time, in order of arrival. It belongs to the event loop of its engine.

    SQLite itself polls for its lock, which starves some writers and lets the file lie idle between two attempts.
    """

    def __init__(self) -> None:
        self._is_taken = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for this writer's turn, which ends with the block."""
        await self.enter()
        try:
            yield
        finally:
            self.leave()

    async def enter(self) -> None:
        """Wait for this writer's turn; a cancelled waiter leaves the queue.

        Raises:
            Exception: the error with which `refuse` turned the waiting writers away.
        """
        if not self._is_taken:
            self._is_taken = True
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                # Its turn came as it was cancelled.
                self.leave()
            raise

    def leave(self) -> None:
        """End a turn: the next writer has its own."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._is_taken = False

    def refuse(self, error: Exception) -> None:
        """Turn away everybody who waits now: the writer in front has waited for somebody else's lock until its end.

        They have waited no shorter than SQLite would have let them, and after them each other would wait as long again.
        """
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)
