"""A cursor for SQLite that runs a statement in one trip to the thread of its connection.

aiosqlite makes a trip for each step: to open a cursor, to execute, to fetch and to close. A trip takes the processor
longer than most statements.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from gaia_memory.database.files.open_file import BEGIN_WRITE, OpenFile

if TYPE_CHECKING:
    from aiosqlite import Connection


class OneTripCursor:
    """A cursor of an aiosqlite connection, as SQLAlchemy uses one. The rows are fetched with their statement.

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
