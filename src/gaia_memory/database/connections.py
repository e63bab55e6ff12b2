"""Connections given and taken back; those of a SQLite engine have a thread each, which ends with it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import aiosqlite
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

CLOSE_TIMEOUT_SECONDS = 2.0
"""How long a close waits for statements that are under way."""

_EXECUTION_OPTION = "gaia_connections"


class _BufferedCursor:
    """What one statement answers: asked, read to its end and closed on one way to the connection's thread.

    aiosqlite makes a way of each, and a short transaction is ways for the most part.
    """

    def __init__(self, connection: Any) -> None:
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.arraysize = 1
        self._connection = connection
        self._rows: list[Any] = []

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Any = ()) -> Self:
        """Make a statement."""
        await self._connection._execute(self._run, sqlite3.Cursor.execute, statement, parameters)
        return self

    async def executemany(self, statement: str, parameters: Any) -> Self:
        """Make a statement for each of many values."""
        await self._connection._execute(self._run, sqlite3.Cursor.executemany, statement, parameters)
        return self

    def _run(self, call: Callable[..., sqlite3.Cursor], statement: str, parameters: Any) -> None:
        cursor = self._connection._conn.cursor()
        try:
            call(cursor, statement, parameters)
            self._rows = cursor.fetchall()
            self.description, self.rowcount, self.lastrowid = cursor.description, cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()

    async def fetchone(self) -> Any:
        """Return the next row, None behind the last one."""
        return self._rows.pop(0) if self._rows else None

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return some rows."""
        count = self.arraysize if size is None else size
        batch, self._rows = self._rows[:count], self._rows[count:]
        return batch

    async def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Let go of the rows."""
        self._rows = []


class _BufferedConnection(aiosqlite.Connection):
    """A connection that makes cursors without asking its thread."""

    def cursor(self) -> Any:
        """Return a new cursor."""
        return _BufferedCursor(self)


class ConnectionRegistry:
    """Opens connections and knows those whose thread has not ended."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """Take what opens the database; it blocks, and is called in the thread of the connection."""
        self._connect = connect
        self._open: list[aiosqlite.Connection] = []

    @property
    def execution_options(self) -> dict[str, ConnectionRegistry]:
        """The execution option by which an engine carries its connections."""
        return {_EXECUTION_OPTION: self}

    async def open(self) -> aiosqlite.Connection:
        """Return a new connection."""
        pending = _BufferedConnection(self._connect, 64)
        # A connection nobody closed must not keep the process alive.
        pending._thread.daemon = True
        pending._thread.run = _ignoring_closed_loop(pending)  # type: ignore[method-assign]
        try:
            connection = await pending
        except BaseException:
            # It tells its thread to end and does not wait for it: what that sends back would find the loop closed.
            await asyncio.to_thread(pending._thread.join)
            raise
        self._open = [*self._alive(), connection]
        return connection

    async def close_all(self) -> None:
        """Tell every thread to end and wait for it: what it sends back needs the event loop open.

        A statement that was cancelled goes on in its thread, and a connection whose making was cancelled is known
        to nobody else.
        """
        self._stop()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CLOSE_TIMEOUT_SECONDS
        # Joining a thread would block the loop, and its end is no event to wait for.
        while self._alive() and loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    def abandon(self) -> None:
        """End all of them from any thread, where their event loop is gone."""
        # Outside of any event loop aiosqlite makes one for its answer, except in a thread that may have none.
        stopping = threading.Thread(target=self._stop, daemon=True)
        try:
            stopping.start()
        except RuntimeError:
            # The interpreter is ending and takes the connections with it.
            return
        stopping.join()

    def _alive(self) -> list[aiosqlite.Connection]:
        return [connection for connection in self._open if connection._thread.is_alive()]

    def _stop(self) -> None:
        for connection in self._alive():
            connection.stop()


def _ignoring_closed_loop(connection: aiosqlite.Connection) -> Callable[[], None]:
    """Return the work of a connection's thread, which ends without a complaint where its event loop is gone."""
    work = connection._thread.run

    def run() -> None:
        try:
            work()
        except RuntimeError:
            # The loop was closed while a statement ran: nobody is there to be told.
            opened, connection._connection = connection._connection, None
            if opened is not None:
                opened.close()

    return run


@asynccontextmanager
async def open_connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Give a connection of an engine for a block.

    `async with engine.connect()` gives it back in a task of its own. Where the event loop ends just then, that one is
    cancelled before it begins, and nobody gives the connection back; here nothing is waited for that could be.
    """
    connection = await engine.connect()
    try:
        yield connection
    finally:
        await connection.close()


async def run_in_connection_thread(connection: AsyncConnection, work: Callable[[sqlite3.Connection], None]) -> None:
    """Let `work` have the SQLite connection that is behind this one, in the one thread that may use it.

    Raises:
        DBAPIError: SQLite refused, as SQLAlchemy tells of it, without what was to be written.
    """
    driver_connection: Any = (await connection.get_raw_connection()).driver_connection
    try:
        await driver_connection._execute(work, driver_connection._conn)
    except sqlite3.Error as error:
        raise DBAPIError.instance(None, None, error, sqlite3.Error, hide_parameters=True) from error


def connections_of(engine: AsyncEngine) -> ConnectionRegistry | None:
    """Return the connections an engine carries; None where it is no SQLite engine of ours."""
    registry = engine.sync_engine.get_execution_options().get(_EXECUTION_OPTION)
    return registry if isinstance(registry, ConnectionRegistry) else None


async def dispose(engine: AsyncEngine) -> None:
    """Close an engine's connections, and leave none of their threads behind."""
    connections = connections_of(engine)
    if connections is None:
        await engine.dispose()
        return
    # They are closed with their threads: the pool would log an error where the event loop ends while it closes one.
    await engine.dispose(close=False)
    await connections.close_all()


def abandon(engine: AsyncEngine) -> None:
    """End an engine's connections where their event loop is gone; a server ends its side by itself."""
    connections = connections_of(engine)
    if connections is not None:
        connections.abandon()
