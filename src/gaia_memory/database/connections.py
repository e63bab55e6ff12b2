"""Connections of an engine: borrowed for a block, and closed together with the threads that SQLite needs."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

if TYPE_CHECKING:
    import aiosqlite
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

CLOSE_TIMEOUT_SECONDS = 2.0
"""How long closing an engine waits for statements that are still running."""

_EXECUTION_OPTION = "gaia_connections"


class ConnectionRegistry:
    """The driver connections that a SQLite engine has opened."""

    def __init__(self) -> None:
        self._connections: list[aiosqlite.Connection] = []

    @property
    def execution_options(self) -> dict[str, ConnectionRegistry]:
        """The execution option through which an engine carries its registry."""
        return {_EXECUTION_OPTION: self}

    def track(self, engine: AsyncEngine) -> None:
        """Register each connection that `engine` opens from now on."""

        @event.listens_for(engine.sync_engine, "connect")
        def register(dbapi_connection: Any, _: object) -> None:
            self._connections = [*self._open(), dbapi_connection.driver_connection]

    async def close_all(self) -> None:
        """Stop every connection and wait until its thread has finished the statement it runs.

        The statement's result goes to the event loop, so the loop must stay open until then.
        """
        await asyncio.to_thread(self._stop)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CLOSE_TIMEOUT_SECONDS
        # A connection sends no event when it has closed.
        while self._open() and loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    def abandon(self) -> None:
        """Stop every connection from any thread, after its event loop has closed."""
        stopping = threading.Thread(target=self._stop, daemon=True)
        try:
            stopping.start()
        except RuntimeError:
            # The interpreter is shutting down and ends the connections itself.
            return
        stopping.join()

    def _open(self) -> list[aiosqlite.Connection]:
        return [connection for connection in self._connections if _is_open(connection)]

    def _stop(self) -> None:
        # Only for threads without an event loop: elsewhere aiosqlite would send its reply to the loop.
        for connection in self._open():
            connection.stop()


def _is_open(connection: aiosqlite.Connection) -> bool:
    try:
        return connection.in_transaction is not None
    except sqlite3.ProgrammingError:
        # SQLite is still closing it, and may be writing its log back.
        return True
    except ValueError:
        return False


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
    registry = _registry_of(engine)
    if registry is None:
        await engine.dispose()
        return
    # The registry closes them: the pool would log an error if the event loop ended while it closed one.
    await engine.dispose(close=False)
    await registry.close_all()


def abandon(engine: AsyncEngine) -> None:
    """End the connections of an engine whose event loop is gone; a database server ends its side on its own."""
    registry = _registry_of(engine)
    if registry is not None:
        registry.abandon()


def _registry_of(engine: AsyncEngine) -> ConnectionRegistry | None:
    registry = engine.sync_engine.get_execution_options().get(_EXECUTION_OPTION)
    return registry if isinstance(registry, ConnectionRegistry) else None
