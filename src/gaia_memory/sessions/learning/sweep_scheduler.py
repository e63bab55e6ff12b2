"""The beat at which this process looks for quiet conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gaia_memory.log import logger_for
from gaia_memory.telemetry import about, frames_of

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = logger_for(__name__)

LONGEST_SECONDS = 60.0
"""The longest time between two looks; with a short idle time it is a quarter of that."""

GRACE_SECONDS = 0.5
"""How long a stop waits for a sweep: one with nothing to learn takes milliseconds, a model call is not waited for."""

_NAME = "gaia_memory"
"""What APScheduler calls our executor, and its logger: a host's own scheduler has others."""


class Beat:
    """Calls `sweep` at once and then again and again, never twice at a time, until it is stopped."""

    def __init__(self, sweep: Callable[[], Awaitable[object]], *, idle_seconds: float) -> None:
        self._sweep = sweep
        self._seconds = _beat_seconds(idle_seconds)
        self._scheduler: AsyncIOScheduler | None = None
        self._job: Job | None = None
        self._begins = datetime.max.replace(tzinfo=UTC)
        self._running: asyncio.Future[None] | None = None
        self._again = False

    def start(self, *, after: float = 0.0) -> None:
        """Begin in the running event loop, `after` so many seconds; of two beginnings the earlier one counts."""
        now = datetime.now(UTC)
        begins = now + timedelta(seconds=after)
        if self._job is not None:
            if begins < self._begins and now < self._begins:
                self._begins = begins
                self._job.modify(next_run_time=begins)
            return
        from apscheduler.executors.asyncio import AsyncIOExecutor
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._begins = begins
        executors = {_NAME: AsyncIOExecutor()}
        self._scheduler = AsyncIOScheduler(timezone=UTC, executors=executors, logger=_quiet("scheduler"))
        _quiet("executors")
        # Without a grace time a beat that a busy loop delays is made up for instead of left out.
        self._job = self._scheduler.add_job(
            self._once,
            "interval",
            seconds=self._seconds,
            executor=_NAME,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            next_run_time=begins,
        )
        self._scheduler.start()

    def every(self, idle_seconds: float) -> None:
        """Go on at the beat of another idle time; the next one is a whole beat away."""
        seconds, self._seconds = self._seconds, _beat_seconds(idle_seconds)
        if self._job is None or self._scheduler is None or seconds == self._seconds:
            return
        self._job.reschedule("interval", seconds=self._seconds)
        if datetime.now(UTC) < self._begins:
            self._job.modify(next_run_time=self._begins)

    def soon(self) -> None:
        """Sweep without waiting for the next beat, once it has begun: there is more to be read."""
        if self._scheduler is not None and datetime.now(UTC) >= self._begins:
            self._run()

    async def stop(self) -> None:
        """End, and cancel a sweep that takes longer: what it did not commit is learned later."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._running is not None:
            # A statement that is cancelled in its thread ends after the event loop, and complains there.
            await asyncio.wait({self._running}, timeout=GRACE_SECONDS)
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _once(self) -> None:
        # Not awaited: the scheduler would complain of each beat during a long sweep, and of one that is cancelled.
        if self._running is None or self._running.done():
            self._run()

    def _run(self) -> None:
        """Begin a sweep; one that is running is followed by another one."""
        if self._running is not None and not self._running.done():
            self._again = True
        else:
            # What is learned for everybody must not carry on the trace of whoever happened to be there.
            self._running = asyncio.get_running_loop().create_task(self._sweeps(), context=Context())

    async def _sweeps(self) -> None:
        self._again = True
        while self._again and self._scheduler is not None:
            self._again = False
            try:
                await self._sweep()
            except Exception as error:
                # A database that is away for a moment must not end the beat.
                kind = type(error).__name__
                fields = about("sweep.failed", error=kind)
                logger.error("the sweep failed and is tried again: %s", kind, extra=fields)
                logger.debug("the sweep failed:\n%s", frames_of(error), extra=fields)


def _quiet(part: str) -> logging.Logger:
    """Return APScheduler's logger for a part of ours: it tells each beat, which a host that logs INFO would read."""
    ours = logging.getLogger(f"apscheduler.{part}.{_NAME}")
    if ours.level == logging.NOTSET:
        ours.setLevel(logging.WARNING)
    return ours


def _beat_seconds(idle_seconds: float) -> float:
    return min(idle_seconds / 4, LONGEST_SECONDS)
