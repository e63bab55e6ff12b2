"""The engine of the session database, opened at first use; it may be that of the memory database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_memory.database.connections import abandon, dispose
from gaia_memory.database.sql_engine import Database, open_engine, truncate_wal

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


class SessionEngine:
    """Opens the session database at first use and closes it, unless both databases are one."""

    def __init__(self, memory: Database, urls: Callable[[], tuple[str, str]]) -> None:
        """`urls` returns the addresses of the session database and of the memory database."""
        self._memory_engine = memory.engine
        self._urls = urls
        self._pool = memory.pool
        self._engine: AsyncEngine | None = None

    def get(self) -> AsyncEngine:
        """Return the engine."""
        if self._engine is None:
            sessions_url, memory_url = self._urls()
            is_shared = sessions_url == memory_url
            self._engine = self._memory_engine if is_shared else open_engine(sessions_url, pool=self._pool)
        return self._engine

    @property
    def _own(self) -> AsyncEngine | None:
        return None if self._engine is self._memory_engine else self._engine

    async def truncate_wal(self) -> bool:
        """Have what was cleared leave the log of the session database; False while a reader keeps it there."""
        return self._own is None or await truncate_wal(self._own)

    async def close(self) -> None:
        """Close its connections."""
        if self._own is not None:
            await dispose(self._own)

    def abandon(self) -> None:
        """Give its connections up, when the event loop is gone."""
        if self._own is not None:
            abandon(self._own)
