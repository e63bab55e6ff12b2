"""The machine's clock under a test's control: ADK stamps events with it, and memory measures idle periods by it."""

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
    """Advances by a tick at each call, and can be set to any time."""

    def __init__(self) -> None:
        self._base = float(int(time.time()))
        self._read_count = itertools.count()

    def now_seconds(self) -> float:
        """Return the time and advance."""
        return self._base + next(self._read_count) * TICK_SECONDS

    def shift(self, seconds: float) -> None:
        """Move it forward or back by this many seconds."""
        self._base += seconds

    @contextmanager
    def installed(self, patch: pytest.MonkeyPatch) -> Iterator[Self]:
        """Make ADK and all of memory read this clock; restore ADK's clock afterwards."""
        patch.setattr("gaia_memory.engine.SystemClock.now", lambda _: datetime.fromtimestamp(self.now_seconds(), UTC))
        platform_time.set_time_provider(self.now_seconds)
        try:
            yield self
        finally:
            platform_time.reset_time_provider()
