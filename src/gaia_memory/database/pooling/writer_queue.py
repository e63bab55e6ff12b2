"""The queue of the writers of one SQLite engine: one writes at a time, in order of arrival.

SQLite itself polls for its lock, which starves some writers and lets the file lie idle between two attempts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class WriterQueue:
    """Lets one writer in at a time. It belongs to the event loop of its engine."""

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
