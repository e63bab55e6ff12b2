"""How much of the store is written at once: Chroma holds the GIL, which stops every turn of the process."""

from __future__ import annotations

import time

MIN_BATCH_FACTS = 5
PACED_BATCH_FACTS = 25
REBUILD_BATCH_FACTS = 50
MAX_BATCH_FACTS = 500
SLOW_WRITE_SECONDS = 0.1
SLOW_AWAITED_WRITE_SECONDS = 0.25
"""A slower batch halves the next one. A fact among 100,000 takes Chroma ten times as long as one among 1,000, and all
writes are slower on a busy machine, so a batch that a caller waits for never has less than `REBUILD_BATCH_FACTS`."""

FAST_WRITE_RATIO = 0.4
"""A batch faster than this share of the slow limit doubles the next one."""

PACED_REST_SECONDS = 0.5
"""Rest between batches when no caller waits. A batch of one takes Chroma nearly as long as one of 25, mostly for the
disk, so a few larger batches delay far less than many small ones."""

MIN_REST_SECONDS = 0.015
AWAITED_REST_RATIO = 0.25
"""Rest after a batch that a caller waits for, as a share of its duration; other batches are followed by a rest of at
least their duration."""

QUIET_SECONDS = 0.25
MAX_REST_SECONDS = 2.0
"""While facts keep arriving, the next batch waits until none has come for `QUIET_SECONDS`, at most `MAX_REST_SECONDS`.
Writing would only take the processor from the callers that add them."""


class WriteThrottle:
    """Chooses the size of each batch by the duration of the last one, and the rest after it."""

    def __init__(self) -> None:
        """Start with batches of the size for a rebuild."""
        self._batch_size = REBUILD_BATCH_FACTS
        self._last_write_seconds = 0.0
        self._changed_at = self._rest_started_at = 0.0

    def note_change(self) -> None:
        """Record that there is something new to write."""
        self._changed_at = time.monotonic()

    def batch_size(self, *, awaited: bool, rebuilding: bool) -> int:
        """Return how many facts to write next: few by default, more in a rebuild, most for a waiting caller."""
        if awaited:
            return max(self._batch_size, REBUILD_BATCH_FACTS)
        return min(self._batch_size, REBUILD_BATCH_FACTS if rebuilding else PACED_BATCH_FACTS)

    def record_write(self, facts: int, seconds: float, *, awaited: bool) -> None:
        """Record the size and the duration of a batch."""
        slow_seconds = SLOW_AWAITED_WRITE_SECONDS if awaited else SLOW_WRITE_SECONDS
        self._last_write_seconds = seconds
        if seconds > slow_seconds:
            self._batch_size = max(MIN_BATCH_FACTS, min(self._batch_size, facts) // 2)
        elif seconds < slow_seconds * FAST_WRITE_RATIO and facts >= self._batch_size:
            self._batch_size = min(MAX_BATCH_FACTS, self._batch_size * 2)

    def rest_seconds(self, *, awaited: bool, rebuilding: bool) -> float:
        """Start the rest after the last batch and return its length."""
        self._rest_started_at = time.monotonic()
        if awaited:
            return self._last_write_seconds * AWAITED_REST_RATIO
        return max(MIN_REST_SECONDS if rebuilding else PACED_REST_SECONDS, self._last_write_seconds)

    def extra_rest_seconds(self) -> float:
        """Return how much longer to rest because facts keep arriving; zero or less when they do not."""
        return min(self._changed_at + QUIET_SECONDS, self._rest_started_at + MAX_REST_SECONDS) - time.monotonic()
