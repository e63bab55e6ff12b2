"""How running time grows with the size of the work, which holds on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable

GROWTH = 8
"""How much larger the larger piece of work is. Were the time the square of the size, it would be 64 times as long."""

MOST_TIMES_AS_LONG = 24
TRIES = 6
CLOCK_SECONDS = 0.0005
"""Less than this the processor's clock does not measure well."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Check that the processor's time for `work` is in proportion to the size it is called with.

    The fastest of several tries counts, since a busy machine or the garbage collector may slow down any of them.
    """
    small: list[float] = []
    large: list[float] = []
    for _ in range(TRIES):
        small.append(_processor_seconds(work, size))
        large.append(_processor_seconds(work, GROWTH * size))
        if min(large) <= MOST_TIMES_AS_LONG * max(min(small), CLOCK_SECONDS):
            return
    raise AssertionError(f"{GROWTH} times the size took {min(large):.3f} s instead of {min(small):.3f} s")


def _processor_seconds(work: Callable[[int], object], size: int) -> float:
    begun = time.process_time()
    work(size)
    return time.process_time() - begun
