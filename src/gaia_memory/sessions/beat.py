"""The beat at which this process looks for quiet conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 60.0
"""The longest time between two looks; with a short idle time it is a quarter of that."""

GRACE_SECONDS = 0.5
"""How long a stop waits for a sweep: one with nothing to learn takes milliseconds, a model call is not waited for."""


class Beat:
    """Calls `sweep` at once and then again and again, never twice at a time, until it is stopped."""

    def __init__(self, sweep: Callable[[], Awaitable[object]], *, idle_seconds: float) -> None:
        self._sweep = sweep
        self._seconds = min(idle_seconds / 4, LONGEST_SECONDS)
        self._scheduler: AsyncIOScheduler | None = None
        self._running: set[asyncio.Future[object]] = set()

    def start(self) -> None:
        """Begin, in the running event loop."""
        if self._scheduler is not None:
            return
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._scheduler = AsyncIOScheduler(timezone=UTC)
        # Without a grace time a beat that a busy loop delays is made up for instead of left out.
        self._scheduler.add_job(
            self._once,
            "interval",
            seconds=self._seconds,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            next_run_time=datetime.now(UTC),
        )
        self._scheduler.start()

    async def stop(self) -> None:
        """End, and cancel a sweep that takes longer: what it did not commit is learned later."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._running:
            # A statement that is cancelled in its thread ends after the event loop, and complains there.
            await asyncio.wait(self._running, timeout=GRACE_SECONDS)
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _once(self) -> None:
        running = asyncio.ensure_future(self._sweep())
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            await running
        except asyncio.CancelledError:
            if self._scheduler is not None:
                raise
            # It was stopped: that is no error for the scheduler to tell.
        except Exception as error:
            # A database that is away for a moment must not end the beat.
            logger.error("the sweep failed and is tried again: %s", type(error).__name__)
            logger.debug("the sweep failed", exc_info=True)
