"""The scheduler that looks for quiet conversations in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gaia_memory.log import error_frames, log_fields, logger_for

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = logger_for(__name__)

MAX_INTERVAL_SECONDS = 60.0
"""The longest interval between two sweeps; a short idle time makes it a quarter of the idle time."""

SHUTDOWN_GRACE_SECONDS = 0.5
"""How long `stop` waits for a sweep: one with nothing to learn takes milliseconds; a model call is cancelled."""

_EXECUTOR_NAME = "gaia_memory"
"""The name of our executor and loggers in APScheduler, to keep them apart from a host's own scheduler."""


class SweepScheduler:
    """Calls `sweep` at regular intervals, never twice at a time, until it is stopped."""

    def __init__(self, sweep: Callable[[], Awaitable[object]], *, idle_seconds: float) -> None:
        self._sweep = sweep
        self._interval_seconds = _interval_from_idle(idle_seconds)
        self._scheduler: AsyncIOScheduler | None = None
        self._job: Job | None = None
        self._first_run_at = datetime.max.replace(tzinfo=UTC)
        self._sweep_task: asyncio.Future[None] | None = None
        self._is_rerun_requested = False

    def start(self, *, delay_seconds: float = 0.0) -> None:
        """Start in the running event loop; the first sweep follows after `delay_seconds`.

        If it is called twice, the earlier first sweep counts.
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
        # None: a run that a busy event loop delays is caught up, not skipped.
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
        """Change the interval to that of another idle time; the next sweep is a whole interval away."""
        previous_seconds, self._interval_seconds = self._interval_seconds, _interval_from_idle(idle_seconds)
        if self._job is None or self._scheduler is None or previous_seconds == self._interval_seconds:
            return
        self._job.reschedule("interval", seconds=self._interval_seconds)
        if datetime.now(UTC) < self._first_run_at:
            self._job.modify(next_run_time=self._first_run_at)

    @property
    def has_begun(self) -> bool:
        """Whether the first sweep has started: a program that ends before starts no work in the background."""
        return self._scheduler is not None and datetime.now(UTC) >= self._first_run_at

    def trigger(self) -> None:
        """Sweep without waiting for the next interval, if the first sweep has started: there is more to read."""
        if self.has_begun:
            self._run_or_queue()

    async def stop(self) -> None:
        """Stop, and cancel a sweep that takes too long: what it did not commit is learned later."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        if self._sweep_task is not None:
            # A statement cancelled in its thread outlives the event loop and logs an error.
            await asyncio.wait({self._sweep_task}, timeout=SHUTDOWN_GRACE_SECONDS)
            self._sweep_task.cancel()
            await asyncio.gather(self._sweep_task, return_exceptions=True)

    async def _run_if_idle(self) -> None:
        # Not awaited: the scheduler would warn at each interval of a long sweep, and about a cancelled one.
        if self._sweep_task is None or self._sweep_task.done():
            self._run_or_queue()

    def _run_or_queue(self) -> None:
        """Start a sweep; if one is running, another one follows."""
        if self._sweep_task is not None and not self._sweep_task.done():
            self._is_rerun_requested = True
        else:
            # An empty context: the sweep must not continue the trace of the request that triggered it.
            self._sweep_task = asyncio.get_running_loop().create_task(self._sweep_loop(), context=Context())

    async def _sweep_loop(self) -> None:
        self._is_rerun_requested = True
        while self._is_rerun_requested and self._scheduler is not None:
            self._is_rerun_requested = False
            try:
                await self._sweep()
            except Exception as error:
                # A short outage of the database must not stop the schedule.
                error_type = type(error).__name__
                fields = log_fields("sweep.failed", error=error_type)
                logger.error("the sweep failed and is tried again: %s", error_type, extra=fields)
                logger.debug("the sweep failed:\n%s", error_frames(error), extra=fields)


def _quiet_logger(component: str) -> logging.Logger:
    """Return APScheduler's logger for a component of ours, set to ERROR.

    At INFO it logs every run, and at WARNING each one that a busy event loop delays past the next; none of it is lost.
    """
    component_logger = logging.getLogger(f"apscheduler.{component}.{_EXECUTOR_NAME}")
    if component_logger.level == logging.NOTSET:
        component_logger.setLevel(logging.ERROR)
    return component_logger


def _interval_from_idle(idle_seconds: float) -> float:
    return min(idle_seconds / 4, MAX_INTERVAL_SECONDS)
