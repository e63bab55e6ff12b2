"""How much of the store is written at once: Chroma holds the interpreter's lock, so turns stand still meanwhile."""

from __future__ import annotations

import time

MIN_BATCH_FACTS = 5
PACED_BATCH_FACTS = 25
REBUILD_BATCH_FACTS = 50
MAX_BATCH_FACTS = 500
SLOW_WRITE_SECONDS = 0.1
SLOW_AWAITED_WRITE_SECONDS = 0.25
"""Seconds: the batch after one that took longer is half as large. A fact of 100,000 takes Chroma ten times as long as
one of 1,000, and all take longer on a busy machine: where somebody waits it is never less than
`REBUILD_BATCH_FACTS`."""

FAST_WRITE_RATIO = 0.4
"""A share of the longest: the batch after one that took less is twice as large."""

PACED_REST_SECONDS = 0.5
"""Seconds between batches that nobody waits for. A batch of one takes Chroma nearly as long as one of 25, most of it
for the disk: few batches stand in the way of far less than small ones do, and write as much."""

MIN_REST_SECONDS = 0.015
AWAITED_REST_RATIO = 0.25
"""How long a pass rests that somebody waits for, as a share of what the last batch took; one that nobody waits for
rests as long as it worked."""

QUIET_SECONDS = 0.25
MAX_REST_SECONDS = 2.0
"""Seconds: while facts come in one call after the other, the next batch waits until none has come for so long, and not
longer than that. Chroma would only take the processor from those who bring them."""


class WriteThrottle:
    """Chooses the size of each batch by how long the last one held everybody up, and the rest after it."""

    def __init__(self) -> None:
        """Begin with the batches of a rebuild."""
        self._batch_size = REBUILD_BATCH_FACTS
        self._last_write_seconds = 0.0
        self._changed_at = self._rest_started_at = 0.0

    def note_change(self) -> None:
        """Take note that there is something new to write."""
        self._changed_at = time.monotonic()

    def batch_size(self, *, awaited: bool, rebuilding: bool) -> int:
        """Return how many facts to write next: a few, those of a pass, or most where somebody waits."""
        if awaited:
            return max(self._batch_size, REBUILD_BATCH_FACTS)
        return min(self._batch_size, REBUILD_BATCH_FACTS if rebuilding else PACED_BATCH_FACTS)

    def record_write(self, facts: int, seconds: float, *, awaited: bool) -> None:
        """Take note of a batch."""
        slow_seconds = SLOW_AWAITED_WRITE_SECONDS if awaited else SLOW_WRITE_SECONDS
        self._last_write_seconds = seconds
        if seconds > slow_seconds:
            self._batch_size = max(MIN_BATCH_FACTS, min(self._batch_size, facts) // 2)
        elif seconds < slow_seconds * FAST_WRITE_RATIO and facts >= self._batch_size:
            self._batch_size = min(MAX_BATCH_FACTS, self._batch_size * 2)

    def rest_seconds(self, *, awaited: bool, rebuilding: bool) -> float:
        """Return how long to rest after the last batch, from now on."""
        self._rest_started_at = time.monotonic()
        if awaited:
            return self._last_write_seconds * AWAITED_REST_RATIO
        return max(MIN_REST_SECONDS if rebuilding else PACED_REST_SECONDS, self._last_write_seconds)

    def extra_rest_seconds(self) -> float:
        """Return how much longer to rest because facts come in; nothing or less where none do."""
        return min(self._changed_at + QUIET_SECONDS, self._rest_started_at + MAX_REST_SECONDS) - time.monotonic()
