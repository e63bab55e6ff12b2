"""Turns that could not be counted because the ledger was away: they are counted once it is back, or nobody looks."""

from __future__ import annotations

from gaia_memory.models import Invocation
from gaia_memory.sessions.turns.turn_lease import Hold


class OwedTurns:
    """Turns said in this process that the ledger knows nothing of."""

    def __init__(self) -> None:
        self._owed: list[tuple[Hold, Invocation | None]] = []

    def owe(self, hold: Hold, invocation: Invocation | None) -> None:
        """Note that a turn is not counted; noting it again changes nothing."""
        if (hold, invocation) not in self._owed:
            self._owed.append((hold, invocation))

    def counted(self, hold: Hold, invocation: Invocation | None) -> None:
        """Note that it is counted now."""
        if (hold, invocation) in self._owed:
            self._owed.remove((hold, invocation))

    @property
    def over(self) -> list[tuple[Hold, Invocation | None]]:
        """Those whose turn is over: one that goes on is counted at its end."""
        return [(hold, invocation) for hold, invocation in self._owed if not hold.is_alive]
