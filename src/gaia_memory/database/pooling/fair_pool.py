"""A pool that hands its connections to those who wait in order of their arrival.

SQLAlchemy's own lets whoever asks at the right moment take the connection for which a waiting one was woken, who then
waits again. And where a connection cannot be opened, nobody is woken to try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry
from sqlalchemy.util import await_only
from typing_extensions import override


class FairPool(AsyncAdaptedQueuePool):
    """A pool of asynchronous connections, of which each needs a permit; permits are given in order of arrival."""

    def __init__(self, creator: Callable[..., Any], pool_size: int = 5, max_overflow: int = 0, **options: Any) -> None:
        super().__init__(creator, pool_size=pool_size, max_overflow=max_overflow, **options)
        self._permits = asyncio.Semaphore(pool_size + max_overflow)

    @override
    def _do_get(self) -> ConnectionPoolEntry:
        await_only(self._wait())
        try:
            return super()._do_get()
        except BaseException:
            self._permits.release()
            raise

    @override
    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        self._permits.release()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self.timeout()):
                await self._permits.acquire()
        except TimeoutError:
            reason = f"none of {self.size()} connections became free within {self.timeout():g} s"
            raise PoolTimeoutError(reason) from None
