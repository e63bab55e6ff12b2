"""The machine's clock as a test sets it: ADK stamps events with it, and memory counts idleness by it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Self

import pytest
from google.adk.platform import time as platform_time

TICK_SECONDS = 0.001
DAY_SECONDS = 86_400.0
YEAR_SECONDS = 365 * DAY_SECONDS


class WallClock:
    """Goes on by a tick whenever it is asked, and anywhere when it is set."""

    def __init__(self) -> None:
        self._base = float(int(time.time()))
        self._read_count = itertools.count()

    def now_seconds(self) -> float:
        """Return the time and go on."""
        return self._base + next(self._read_count) * TICK_SECONDS

    def shift(self, seconds: float) -> None:
        """Set it forward or back by so many seconds."""
        self._base += seconds

    @contextmanager
    def installed(self, patch: pytest.MonkeyPatch) -> Iterator[Self]:
        """Let ADK and all of memory read this clock, and ADK the machine's again afterwards."""
        patch.setattr("gaia_memory.engine.SystemClock.now", lambda _: datetime.fromtimestamp(self.now_seconds(), UTC))
        platform_time.set_time_provider(self.now_seconds)
        try:
            yield self
        finally:
            platform_time.reset_time_provider()
