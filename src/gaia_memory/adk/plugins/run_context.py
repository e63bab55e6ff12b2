"""Which conversations the code that runs here holds: a run inside another one never waits for it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_memory.models import SessionKey
    from gaia_memory.sessions.turns.turn_lease import Hold

_held: ContextVar[tuple[Hold, ...]] = ContextVar("held", default=())
_calling: ContextVar[Hold | None] = ContextVar("calling", default=None)


def held_here(key: SessionKey) -> Hold | None:
    """Return the hold on a conversation within which this runs; None where it is on its own."""
    return next((hold for hold in reversed(_held.get()) if hold.key == key and not hold.is_over), None)


def hold_here(hold: Hold) -> None:
    """Let what runs in this context from now on count as within a hold, until that is over."""
    if hold not in _held.get():
        _held.set((*(each for each in _held.get() if not each.is_over), hold))


def call_tool_here(hold: Hold) -> None:
    """Let what runs in this context from now on count as a tool of a turn, which waits for it."""
    _calling.set(hold)


def is_tool_here(key: SessionKey) -> bool:
    """Say whether this runs in a tool that a turn of a conversation waits for."""
    hold = _calling.get()
    return hold is not None and hold.key == key and not hold.is_over
