"""The start of a turn by the wall clock of its events, which may be set back during the turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.adk.platform import time as platform_time

from gaia_memory.models import Invocation

if TYPE_CHECKING:
    from google.adk.events.event import Event

CLOCK_TOLERANCE_SECONDS = 0.5
"""How far the wall clock and the monotonic clock may diverge in a turn before the clock counts as set back."""


@dataclass(frozen=True, slots=True)
class InvocationStart:
    """An invocation, and its start by the monotonic clock."""

    invocation: Invocation
    started_monotonic: float

    @classmethod
    def now(cls, invocation_id: str, first: Event | None) -> InvocationStart:
        """Return the start of an invocation that begins now; `first` is its first event, if it exists already."""
        now = platform_time.get_time()
        started_at = now if first is None else min(now, first.timestamp)
        return cls(Invocation(invocation_id, started_at), asyncio.get_running_loop().time())

    def invocation_after_rollback(self) -> Invocation | None:
        """Return the invocation with its start by the current wall clock, if the clock was set back; otherwise None."""
        started_at = platform_time.get_time() - (asyncio.get_running_loop().time() - self.started_monotonic)
        is_rolled_back = started_at < self.invocation.started_at - CLOCK_TOLERANCE_SECONDS
        return Invocation(self.invocation.id, started_at) if is_rolled_back else None
