"""The beat sweeps again and again, never twice at a time, and makes up once for what it could not do in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gaia_memory.sessions.learning.sweep_scheduler import SweepScheduler
from support.host_matrix import wait_until

pytestmark = pytest.mark.heavy

IDLE = 0.08
"""Beats four times as often."""


class Sweeps:
    """Counts sweeps, and how many ran at once; each lasts until `gate` is open."""

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


async def test_a_sweep_that_lasts_is_not_begun_a_second_time() -> None:
    """However many beats pass meanwhile; they go on after it."""
    sweeps = Sweeps()
    sweeps.gate.clear()
    async with beating(sweeps):
        await wait_until(lambda: sweeps.begun == 1)
        await asyncio.sleep(5 * IDLE)

        assert sweeps.begun == 1

        sweeps.gate.set()
        await wait_until(lambda: sweeps.begun >= 3)

    assert sweeps.most == 1


async def test_a_sweep_that_fails_does_not_end_the_beat() -> None:
    """A database may be away for a moment."""
    sweeps = Sweeps()
    sweeps.error = OSError("away")
    async with beating(sweeps):
        await wait_until(lambda: sweeps.ended >= 2)
        sweeps.error = None
        await wait_until(lambda: sweeps.ended >= 3)


async def test_a_loop_that_was_blocked_is_made_up_for_once() -> None:
    """The beats it missed are one; none is left out because it comes late."""
    sweeps = Sweeps()
    async with beating(sweeps):
        await wait_until(lambda: sweeps.ended >= 1)
        before = sweeps.begun
        time.sleep(10 * IDLE)
        await asyncio.sleep(0)
        await wait_until(lambda: sweeps.begun > before)

        assert sweeps.begun - before <= 2


async def test_a_stop_cancels_a_sweep_that_lasts_and_none_begins_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it did not commit is learned later."""
    monkeypatch.setattr("gaia_memory.sessions.learning.sweep_scheduler.SHUTDOWN_GRACE_SECONDS", 0.01)
    sweeps = Sweeps()
    sweeps.gate.clear()
    async with beating(sweeps) as beat:
        await wait_until(lambda: sweeps.begun == 1)
        async with asyncio.timeout(60):
            await beat.stop()
        beat.trigger()
        await asyncio.sleep(2 * IDLE)

    assert (sweeps.begun, sweeps.cancelled) == (1, 1)
