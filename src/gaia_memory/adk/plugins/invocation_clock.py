"""When a turn begins by the clock that stamps its events, which anybody may set back meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.adk.platform import time as platform_time

from gaia_memory.models import Invocation

if TYPE_CHECKING:
    from google.adk.events.event import Event

CLOCK_TOLERANCE_SECONDS = 0.5
"""How far two clocks may run apart in a turn before one of them counts as set back."""


@dataclass(frozen=True, slots=True)
class InvocationStart:
    """An invocation, and when it began by a clock that nobody sets."""

    invocation: Invocation
    started_monotonic: float

    @classmethod
    def now(cls, invocation_id: str, first: Event | None) -> InvocationStart:
        """Note an invocation that begins now; its first event may be there already."""
        now = platform_time.get_time()
        started_at = now if first is None else min(now, first.timestamp)
        return cls(Invocation(invocation_id, started_at), asyncio.get_running_loop().time())

    def invocation_after_rollback(self) -> Invocation | None:
        """Return the invocation with when it would have begun by the clock as it is now, if that was set back."""
        started_at = platform_time.get_time() - (asyncio.get_running_loop().time() - self.started_monotonic)
        is_rolled_back = started_at < self.invocation.started_at - CLOCK_TOLERANCE_SECONDS
        return Invocation(self.invocation.id, started_at) if is_rolled_back else None
