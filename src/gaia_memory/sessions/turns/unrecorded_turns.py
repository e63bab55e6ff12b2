"""Turns that could not be counted because the ledger was away: they are counted once it is back, or nobody looks."""

from __future__ import annotations

from gaia_memory.models import Invocation
from gaia_memory.sessions.turns.turn_lease import TurnLease


class UnrecordedTurns:
    """Turns said in this process that the ledger knows nothing of."""

    def __init__(self) -> None:
        self._turns: list[tuple[TurnLease, Invocation | None]] = []

    def add(self, lease: TurnLease, invocation: Invocation | None) -> None:
        """Note that a turn is not counted; noting it again changes nothing."""
        if (lease, invocation) not in self._turns:
            self._turns.append((lease, invocation))

    def discard(self, lease: TurnLease, invocation: Invocation | None) -> None:
        """Note that it is counted now."""
        if (lease, invocation) in self._turns:
            self._turns.remove((lease, invocation))

    @property
    def finished_turns(self) -> list[tuple[TurnLease, Invocation | None]]:
        """Those whose turn is over: one that goes on is counted at its end."""
        return [(hold, invocation) for hold, invocation in self._turns if not hold.is_alive]
