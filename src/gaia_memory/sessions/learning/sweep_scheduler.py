"""The beat at which this process looks for quiet conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gaia_memory.log import logger_for
from gaia_memory.telemetry import error_frames, log_fields

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = logger_for(__name__)

MAX_INTERVAL_SECONDS = 60.0
"""The longest time between two looks; with a short idle time it is a quarter of that."""

SHUTDOWN_GRACE_SECONDS = 0.5
"""How long a stop waits for a sweep: one with nothing to learn takes milliseconds, a model call is not waited for."""

_EXECUTOR_NAME = "gaia_memory"
"""What APScheduler calls our executor, and its logger: a host's own scheduler has others."""


class SweepScheduler:
    """Calls `sweep` at once and then again and again, never twice at a time, until it is stopped."""

    def __init__(self, sweep: Callable[[], Awaitable[object]], *, idle_seconds: float) -> None:
        self._sweep = sweep
        self._interval_seconds = _interval_from_idle(idle_seconds)
        self._scheduler: AsyncIOScheduler | None = None
        self._job: Job | None = None
        self._first_run_at = datetime.max.replace(tzinfo=UTC)
        self._sweep_task: asyncio.Future[None] | None = None
        self._is_rerun_requested = False

    def start(self, *, delay_seconds: float = 0.0) -> None:
        """Begin in the running event loop, `delay_seconds` so many seconds.

        Of two beginnings the earlier one counts.
        """
        now = datetime.now(UTC)
        first_run_at = now + timedelta(seconds=delay_seconds)
        if self._job is not None:
            if first_run_at < self._first_run_at and now < self._first_run_at:
                self._first_run_at = first_run_at
                self._job.modify(next_run_time=first_run_at)
            return
        from apscheduler.executors.asyncio import AsyncIOExecutor
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        self._first_run_at = first_run_at
        executors = {_EXECUTOR_NAME: AsyncIOExecutor()}
        self._scheduler = AsyncIOScheduler(timezone=UTC, executors=executors, logger=_quiet_logger("scheduler"))
        _quiet_logger("executors")
        # Without a grace time a beat that a busy loop delays is made up for instead of left out.
        self._job = self._scheduler.add_job(
            self._run_if_idle,
            "interval",
            seconds=self._interval_seconds,
            executor=_EXECUTOR_NAME,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            next_run_time=first_run_at,
        )
        self._scheduler.start()

    def reschedule(self, idle_seconds: float) -> None:
        """Go on at the beat of another idle time; the next one is a whole beat away."""
        previous_seconds, self._interval_seconds = self._interval_seconds, _interval_from_idle(idle_seconds)
        if self._job is None or self._scheduler is None or previous_seconds == self._interval_seconds:
            return
        self._job.reschedule("interval", seconds=self._interval_seconds)
        if datetime.now(UTC) < self._first_run_at:
            self._job.modify(next_run_time=self._first_run_at)

    def trigger(self) -> None:
        """Sweep without waiting for the next beat, once it has begun: there is more to be read."""
        if self._scheduler is not None and datetime.now(UTC) >= self._first_run_at:
            self._run_or_queue()

    async def stop(self) -> None:
        """End, and cancel a sweep that takes longer: what it did not commit is learned later."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._sweep_task is not None:
            # A statement that is cancelled in its thread ends after the event loop, and complains there.
            await asyncio.wait({self._sweep_task}, timeout=SHUTDOWN_GRACE_SECONDS)
            self._sweep_task.cancel()
            await asyncio.gather(self._sweep_task, return_exceptions=True)

    async def _run_if_idle(self) -> None:
        # Not awaited: the scheduler would complain of each beat during a long sweep, and of one that is cancelled.
        if self._sweep_task is None or self._sweep_task.done():
            self._run_or_queue()

    def _run_or_queue(self) -> None:
        """Begin a sweep; one that is running is followed by another one."""
        if self._sweep_task is not None and not self._sweep_task.done():
            self._is_rerun_requested = True
        else:
            # What is learned for everybody must not carry on the trace of whoever happened to be there.
            self._sweep_task = asyncio.get_running_loop().create_task(self._sweep_loop(), context=Context())

    async def _sweep_loop(self) -> None:
        self._is_rerun_requested = True
        while self._is_rerun_requested and self._scheduler is not None:
            self._is_rerun_requested = False
            try:
                await self._sweep()
            except Exception as error:
                # A database that is away for a moment must not end the beat.
                error_type = type(error).__name__
                fields = log_fields("sweep.failed", error=error_type)
                logger.error("the sweep failed and is tried again: %s", error_type, extra=fields)
                logger.debug("the sweep failed:\n%s", error_frames(error), extra=fields)


def _quiet_logger(component: str) -> logging.Logger:
    """Return APScheduler's logger for a part of ours: it tells each beat, which a host that logs INFO would read."""
    component_logger = logging.getLogger(f"apscheduler.{component}.{_EXECUTOR_NAME}")
    if component_logger.level == logging.NOTSET:
        component_logger.setLevel(logging.WARNING)
    return component_logger


def _interval_from_idle(idle_seconds: float) -> float:
    return min(idle_seconds / 4, MAX_INTERVAL_SECONDS)
