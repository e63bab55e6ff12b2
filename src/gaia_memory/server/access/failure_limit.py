"""Slows down whoever guesses tokens."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

WINDOW_SECONDS = 60.0
MAX_WRONG_TOKENS = 10
_MAX_PEERS = 1000


class FailureLimit:
    """Counts the different wrong tokens of each address; the same one again, as of an old script, is no guess."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Take a monotonic clock in seconds."""
        self._now = now
        self._failures: OrderedDict[str, dict[str, float]] = OrderedDict()

    def retry_after(self, peer: str) -> float:
        """Return for how many seconds no token of this address is looked at; 0 if one is."""
        times = sorted(self._recent(peer).values())
        return 0.0 if len(times) < MAX_WRONG_TOKENS else times[-MAX_WRONG_TOKENS] + WINDOW_SECONDS - self._now()

    def note(self, peer: str, hashed: str) -> None:
        """Note a wrong token."""
        self._failures[peer] = {**self._recent(peer), hashed: self._now()}
        self._failures.move_to_end(peer)
        while len(self._failures) > _MAX_PEERS:
            self._failures.popitem(last=False)

    def _recent(self, peer: str) -> dict[str, float]:
        since = self._now() - WINDOW_SECONDS
        return {hashed: at for hashed, at in self._failures.get(peer, {}).items() if at > since}
