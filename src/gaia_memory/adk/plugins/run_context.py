"""Which conversations the code that runs here holds: a run inside another one never waits for it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_memory.models import SessionKey
    from gaia_memory.sessions.turns.turn_lease import TurnLease

_leases: ContextVar[tuple[TurnLease, ...]] = ContextVar("held", default=())
_tool_lease: ContextVar[TurnLease | None] = ContextVar("calling", default=None)


def current_lease(key: SessionKey) -> TurnLease | None:
    """Return the hold on a conversation within which this runs; None where it is on its own."""
    return next((hold for hold in reversed(_leases.get()) if hold.key == key and not hold.is_released), None)


def enter_lease(lease: TurnLease) -> None:
    """Let what runs in this context from now on count as within a hold, until that is over."""
    if lease not in _leases.get():
        _leases.set((*(each for each in _leases.get() if not each.is_released), lease))


def enter_tool_call(lease: TurnLease) -> None:
    """Let what runs in this context from now on count as a tool of a turn, which waits for it."""
    _tool_lease.set(lease)


def is_in_tool_of(key: SessionKey) -> bool:
    """Say whether this runs in a tool that a turn of a conversation waits for."""
    lease = _tool_lease.get()
    return lease is not None and lease.key == key and not lease.is_released
