"""Connections of an engine: borrowed for a block, and closed together with the threads that SQLite needs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sqlalchemy import event

from gaia_memory.database.files.open_file import BEGIN_WRITE, OpenFile
from gaia_memory.database.sqlite import WriterQueue
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    import sqlite3

    import aiosqlite
    from aiosqlite import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


CLOSE_TIMEOUT_SECONDS = 2.0
"""How long closing an engine waits for statements that are still running."""

REGISTRY_OPTION = "gaia_connections"
"""The execution option through which an engine carries its `ConnectionRegistry`."""


class ConnectionRegistry:
    """The driver connections that a SQLite engine has opened, and their threads, which bear its name.

    `file` is the file of the engine; None for a database in memory. `writers` is the queue of those who write it.
    """

    def __init__(self, connection_type: type[sqlite3.Connection], file: OpenFile | None = None) -> None:
        self.file = file
        self.writers = WriterQueue()
        self._connection_type = connection_type
        self._connections: WeakSet[aiosqlite.Connection] = WeakSet()
        self._thread_name = f"gaia-sqlite-{id(self):x}"

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        """Open a connection, in the thread that the driver made for it."""
        threading.current_thread().name = self._thread_name
        if self.file is None:
            return self._connection_type(*arguments, **options)
        # Otherwise a further connection would create the file that is missing.
        self.file.require_same()
        connection = self._connection_type(*arguments, **options)
        self.file.note_opened()
        return connection

    def track(self, engine: AsyncEngine) -> None:
        """Register each connection that `engine` opens from now on."""

        def terminate(dbapi_connection: Any) -> None:
            self._stop_aside([dbapi_connection.driver_connection])

        # SQLAlchemy's waits in a task of its own, which is lost if the loop ends meanwhile.
        engine.sync_engine.dialect.do_terminate = terminate  # type: ignore[method-assign]

        @event.listens_for(engine.sync_engine, "connect")
        def register(dbapi_connection: Any, _: object) -> None:
            connection = dbapi_connection.driver_connection
            connection.cursor = partial(OneTripCursor, connection, self.file)
            self._connections.add(connection)

    async def close_all(self) -> None:
        """Stop every connection and wait until its thread has ended.

        A thread sends the result of the statement it runs, and of an attempt to open a file, to the event loop, so the
        loop must stay open until then.
        """
        if (stopping := self._stop_aside(self._connections, CLOSE_TIMEOUT_SECONDS)) is not None:
            try:
                await run_in_thread(stopping.join)
            except asyncio.CancelledError:
                # The loop may be ending, which drops the work of its pool.
                stopping.join()
                raise

    def abandon(self) -> None:
        """Stop every connection from any thread, after its event loop has closed."""
        if (stopping := self._stop_aside(self._connections)) is not None:
            stopping.join()

    def _stop_aside(
        self, connections: Iterable[aiosqlite.Connection], timeout_seconds: float = 0.0
    ) -> threading.Thread | None:
        stopping = threading.Thread(target=self._stop, args=(list(connections), timeout_seconds), daemon=True)
        try:
            stopping.start()
        except RuntimeError:
            # The interpreter is shutting down and ends the connections itself.
            return None
        return stopping

    def _stop(self, connections: Iterable[aiosqlite.Connection], timeout_seconds: float) -> None:
        # Only for threads without an event loop: elsewhere aiosqlite would send its reply to the loop.
        for connection in connections:
            connection.stop()
        deadline = time.monotonic() + timeout_seconds
        for thread in threading.enumerate():
            if thread.name == self._thread_name:
                thread.join(max(0.0, deadline - time.monotonic()))


@asynccontextmanager
async def open_connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Borrow a connection from an engine for a block.

    `async with engine.connect()` returns the connection in a separate task. If the event loop ends at that moment, the
    task is cancelled before it starts and the connection is lost; here nothing is awaited that could be cancelled.
    """
    connection = await engine.connect()
    try:
        yield connection
    finally:
        await connection.close()


async def dispose(engine: AsyncEngine) -> None:
    """Close the connections of an engine and end their threads."""
    registry = registry_of(engine)
    if registry is None:
        await engine.dispose()
        return
    # The registry closes them: the pool would log an error if the event loop ended while it closed one.
    await engine.dispose(close=False)
    await registry.close_all()


def abandon(engine: AsyncEngine) -> None:
    """End the connections of an engine whose event loop is gone; a database server ends its side on its own."""
    registry = registry_of(engine)
    if registry is not None:
        registry.abandon()


def registry_of(engine: AsyncEngine) -> ConnectionRegistry | None:
    """Return the registry of a SQLite engine; None for a server's."""
    registry = engine.sync_engine.get_execution_options().get(REGISTRY_OPTION)
    return registry if isinstance(registry, ConnectionRegistry) else None


class OneTripCursor:
    """A cursor of an aiosqlite connection, as SQLAlchemy uses one, that runs a statement in one trip to its thread.

    aiosqlite makes a trip for each step: to open a cursor, to execute, to fetch and to close. A trip takes longer than
    most statements.

    Before a write transaction it checks `file`, the one that the connection has open.
    """

    arraysize = 1

    def __init__(self, connection: Connection, file: OpenFile | None) -> None:
        self._connection = connection
        self._in_thread: Callable[..., Awaitable[None]] = connection._execute
        self._file = file
        self._rows: Iterator[Any] = iter(())
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> OneTripCursor:
        return self

    def __await__(self) -> Generator[Any, None, OneTripCursor]:
        # SQLAlchemy 2.0 awaits a cursor, 2.1 enters it.
        return self.__aenter__().__await__()

    async def execute(self, statement: str, parameters: Iterable[Any] = ()) -> None:
        """Run a statement."""
        await self._in_thread(self._run, "execute", statement, parameters)

    async def executemany(self, statement: str, parameters: Iterable[Iterable[Any]]) -> None:
        """Run a statement for each of several rows of parameters."""
        await self._in_thread(self._run, "executemany", statement, parameters)

    async def fetchone(self) -> Any:
        """Return the next row; None after the last."""
        return next(self._rows, None)

    async def fetchmany(self, size: int | None = None) -> Sequence[Any]:
        """Return the next rows."""
        return list(islice(self._rows, size or self.arraysize))

    async def fetchall(self) -> Sequence[Any]:
        """Return the remaining rows."""
        return list(self._rows)

    async def close(self) -> None:
        """Do nothing: the statement is over."""

    def _run(self, method: str, statement: str, parameters: Iterable[Any]) -> None:
        if self._file is not None and statement == BEGIN_WRITE:
            self._file.require_writable()
        # An open cursor would keep its connection's locks, even when that is closed, while a traceback refers to it.
        with closing(self._connection._conn.cursor()) as cursor:
            getattr(cursor, method)(statement, parameters)
            self._rows = iter(cursor.fetchall())
            self.description, self.rowcount, self.lastrowid = cursor.description, cursor.rowcount, cursor.lastrowid
