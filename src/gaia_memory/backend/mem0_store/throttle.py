"""How much of the store is written at once: Chroma holds the interpreter's lock, so turns stand still meanwhile."""

from __future__ import annotations

import time

LEAST_BATCH = 5
PACED_BATCH = 25
REBUILD_BATCH = 50
AWAITED_BATCH = 500
LONG_WRITE = 0.1
LONG_AWAITED_WRITE = 0.25
"""Seconds: the batch after one that took longer is half as large. A fact of 100,000 takes Chroma ten times as long as
one of 1,000, and all take longer on a busy machine: where somebody waits it is never less than `REBUILD_BATCH`."""

SHORT = 0.4
"""A share of the longest: the batch after one that took less is twice as large."""

PACED_REST = 0.5
"""Seconds between batches that nobody waits for. A batch of one takes Chroma nearly as long as one of 25, most of it
for the disk: few batches stand in the way of far less than small ones do, and write as much."""

LEAST_REST = 0.015
AWAITED_REST = 0.25
"""How long a pass rests that somebody waits for, as a share of what the last batch took; one that nobody waits for
rests as long as it worked."""

QUIET = 0.25
LONGEST_REST = 2.0
"""Seconds: while facts come in one call after the other, the next batch waits until none has come for so long, and not
longer than that. Chroma would only take the processor from those who bring them."""


class Pace:
    """Chooses the size of each batch by how long the last one held everybody up, and the rest after it."""

    def __init__(self) -> None:
        """Begin with the batches of a rebuild."""
        self._size = REBUILD_BATCH
        self._seconds = 0.0
        self._changed_at = self._rests_from = 0.0

    def changed(self) -> None:
        """Take note that there is something new to write."""
        self._changed_at = time.monotonic()

    def size(self, *, awaited: bool, rebuilding: bool) -> int:
        """Return how many facts to write next: a few, those of a pass, or most where somebody waits."""
        if awaited:
            return max(self._size, REBUILD_BATCH)
        return min(self._size, REBUILD_BATCH if rebuilding else PACED_BATCH)

    def wrote(self, facts: int, seconds: float, *, awaited: bool) -> None:
        """Take note of a batch."""
        longest = LONG_AWAITED_WRITE if awaited else LONG_WRITE
        self._seconds = seconds
        if seconds > longest:
            self._size = max(LEAST_BATCH, min(self._size, facts) // 2)
        elif seconds < longest * SHORT and facts >= self._size:
            self._size = min(AWAITED_BATCH, self._size * 2)

    def rest(self, *, awaited: bool, rebuilding: bool) -> float:
        """Return how long to rest after the last batch, from now on."""
        self._rests_from = time.monotonic()
        if awaited:
            return self._seconds * AWAITED_REST
        return max(LEAST_REST if rebuilding else PACED_REST, self._seconds)

    def more(self) -> float:
        """Return how much longer to rest because facts come in; nothing or less where none do."""
        return min(self._changed_at + QUIET, self._rests_from + LONGEST_REST) - time.monotonic()
