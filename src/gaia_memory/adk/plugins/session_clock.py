"""Keeps the events of a session in order while the clock is behind them: ADK sorts events by time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from google.adk.platform import time as platform_time

from gaia_memory.adk.plugins.run_context import set_metadata
from gaia_memory.adk.sessions.event_mapping import CLOCK_LAG_KEY

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event

_TICK_SECONDS = 1e-6


class ShiftedClock:
    """ADK's clock for one run, ahead of the real one until the run ends."""

    def __init__(self, real_time: Callable[[], float], lag_seconds: float) -> None:
        self.real_time = real_time
        self.lag_seconds = lag_seconds

    def __call__(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.real_time() + self.lag_seconds

    def stop(self) -> None:
        """Show the real time again: the caller of the run may keep this clock in its context."""
        self.lag_seconds = 0.0


def shift_clock(invocation: InvocationContext, after: float) -> ShiftedClock | None:
    """Make ADK date the run's later events after `after`; None, without a shift, if the clock is not behind.

    Metadata on the events tells by how much, so that the time of a message is known.
    """
    # The attribute is private and may not exist in every version of ADK.
    provider = getattr(platform_time, "_time_provider_context_var", None)
    if provider is None:
        return None
    current = provider.get()
    real_time = current.real_time if isinstance(current, ShiftedClock) else current
    lag_seconds = after + _TICK_SECONDS - real_time()
    if lag_seconds <= 0:
        if current is not real_time:
            # A cancelled run left its clock here.
            platform_time.set_time_provider(real_time)
        return None
    clock = ShiftedClock(real_time, lag_seconds)
    platform_time.set_time_provider(clock)
    set_metadata(invocation, CLOCK_LAG_KEY, lag_seconds)
    return clock


def keep_order(event: Event, invocation: InvocationContext) -> None:
    """Date an event after the newest one of the session: the clock may have been set back in the middle of a run."""
    if invocation.session.events:
        event.timestamp = max(event.timestamp, invocation.session.events[-1].timestamp + _TICK_SECONDS)
