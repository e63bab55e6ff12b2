"""Connections given and taken back; those of a SQLite engine have a thread each, which ends with it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiosqlite

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

END_SECONDS = 2.0
"""How long a close waits for statements that are under way."""

_OPTION = "gaia_connections"


class Connections:
    """Opens connections and knows those whose thread has not ended."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """Take what opens the database; it blocks, and is called in the thread of the connection."""
        self._connect = connect
        self._open: list[aiosqlite.Connection] = []

    @property
    def options(self) -> dict[str, Connections]:
        """The execution option by which an engine carries its connections."""
        return {_OPTION: self}

    async def open(self) -> aiosqlite.Connection:
        """Return a new connection."""
        opening = aiosqlite.Connection(self._connect, 64)
        # A connection nobody closed must not keep the process alive.
        opening._thread.daemon = True
        opening._thread.run = _quiet(opening)  # type: ignore[method-assign]
        try:
            connection = await opening
        except BaseException:
            # It tells its thread to end and does not wait for it: what that sends back would find the loop closed.
            await asyncio.to_thread(opening._thread.join)
            raise
        self._open = [*self._alive(), connection]
        return connection

    async def end(self) -> None:
        """Tell every thread to end and wait for it: what it sends back needs the event loop open.

        A statement that was cancelled goes on in its thread, and a connection whose making was cancelled is known
        to nobody else.
        """
        self._stop()
        loop = asyncio.get_running_loop()
        until = loop.time() + END_SECONDS
        # Joining a thread would block the loop, and its end is no event to wait for.
        while self._alive() and loop.time() < until:  # noqa: ASYNC110
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


def _quiet(connection: aiosqlite.Connection) -> Callable[[], None]:
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
async def connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Give a connection of an engine for a block.

    `async with engine.connect()` gives it back in a task of its own. Where the event loop ends just then, that one is
    cancelled before it begins, and nobody gives the connection back; here nothing is waited for that could be.
    """
    connection = await engine.connect()
    try:
        yield connection
    finally:
        await connection.close()


def connections_of(engine: AsyncEngine) -> Connections | None:
    """Return the connections an engine carries; None where it is no SQLite engine of ours."""
    carried = engine.sync_engine.get_execution_options().get(_OPTION)
    return carried if isinstance(carried, Connections) else None


async def dispose(engine: AsyncEngine) -> None:
    """Close an engine's connections, and leave none of their threads behind."""
    connections = connections_of(engine)
    if connections is None:
        await engine.dispose()
        return
    # They are closed with their threads: the pool would log an error where the event loop ends while it closes one.
    await engine.dispose(close=False)
    await connections.end()


def abandon(engine: AsyncEngine) -> None:
    """End an engine's connections where their event loop is gone; a server ends its side by itself."""
    connections = connections_of(engine)
    if connections is not None:
        connections.abandon()
