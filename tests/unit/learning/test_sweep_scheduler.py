"""The scheduler repeats the sweep, never runs two at a time, and makes up for missed runs once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gaia_memory.learning.sweep_scheduler import SweepScheduler
from support.host_matrix import wait_until

pytestmark = pytest.mark.heavy

IDLE = 0.08
"""The scheduler runs four times as often."""


class Sweeps:
    """Counts sweeps and how many run at once; each lasts until `gate` opens."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.cancelled = 0
        self.most = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> None:
        self.begun += 1
        self.most = max(self.most, self.begun - self.ended)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1
        if self.error is not None:
            raise self.error


@asynccontextmanager
async def beating(sweeps: Sweeps) -> AsyncIterator[SweepScheduler]:
    beat = SweepScheduler(sweeps, idle_seconds=IDLE)
    beat.start()
    try:
        yield beat
    finally:
        await beat.stop()


async def test_a_long_sweep_is_not_started_twice() -> None:
    """Runs that come due meanwhile are skipped; later ones happen."""
    sweeps = Sweeps()
    sweeps.gate.clear()
    async with beating(sweeps):
        await wait_until(lambda: sweeps.begun == 1)
        await asyncio.sleep(5 * IDLE)

        assert sweeps.begun == 1

        sweeps.gate.set()
        await wait_until(lambda: sweeps.begun >= 3)

    assert sweeps.most == 1


async def test_a_failing_sweep_does_not_end_the_scheduler() -> None:
    """The database may be away for a moment."""
    sweeps = Sweeps()
    sweeps.error = OSError("away")
    async with beating(sweeps):
        await wait_until(lambda: sweeps.ended >= 2)
        sweeps.error = None
        await wait_until(lambda: sweeps.ended >= 3)


async def test_a_blocked_loop_makes_up_for_missed_runs_once() -> None:
    """All missed runs become one, and a late run is not skipped."""
    sweeps = Sweeps()
    async with beating(sweeps):
        await wait_until(lambda: sweeps.ended >= 1)
        before = sweeps.begun
        time.sleep(10 * IDLE)
        await asyncio.sleep(0)
        await wait_until(lambda: sweeps.begun > before)

        assert sweeps.begun - before <= 2


async def test_stop_cancels_a_running_sweep_and_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncommitted work is learned later."""
    monkeypatch.setattr("gaia_memory.learning.sweep_scheduler.SHUTDOWN_GRACE_SECONDS", 0.01)
    sweeps = Sweeps()
    sweeps.gate.clear()
    async with beating(sweeps) as beat:
        await wait_until(lambda: sweeps.begun == 1)
        async with asyncio.timeout(60):
            await beat.stop()
        beat.trigger()
        await asyncio.sleep(2 * IDLE)

    assert (sweeps.begun, sweeps.cancelled) == (1, 1)
