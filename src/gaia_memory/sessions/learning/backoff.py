"""When a conversation that could not be learned is tried again, and how long a model that is away is left alone."""

from __future__ import annotations

import random

from tenacity import RetryCallState, Retrying, wait_exponential

PARK_AFTER_BAD_ANSWERS = 8
"""Bad answers in a row before a conversation waits for somebody to look; an unreachable model never parks."""

MAX_RETRY_AFTER_SECONDS = 3600.0
"""A provider that names a longer pause before the next question is not believed: it may be back much earlier."""

JITTER_RATIO = 0.25
"""How much longer a pause may be, by chance: what failed together does not come back together."""

_OUTAGE_BACKOFF = wait_exponential(multiplier=15.0, max=600.0 / (1 + JITTER_RATIO))
_FAILURE_BACKOFF = wait_exponential(multiplier=60.0, max=3600.0 / (1 + JITTER_RATIO))


def outage_backoff_seconds(count: int, *, retry_after: float | None = None) -> float:
    """Return the seconds to wait after so many times in a row that the model could not be reached.

    A quarter of a minute, doubled up to ten minutes, so that nobody waits long once it is back; and not less than
    the pause `retry_after` by the provider.
    """
    return max(_with_jitter(_OUTAGE_BACKOFF, count), min(retry_after or 0.0, MAX_RETRY_AFTER_SECONDS))


def failure_backoff_seconds(count: int) -> float:
    """Return the seconds to wait after so many bad answers, or other failures: a minute, doubled up to an hour."""
    return _with_jitter(_FAILURE_BACKOFF, count)


def _with_jitter(backoff: wait_exponential, count: int) -> float:
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(count, 1)
    return backoff(state) * random.uniform(1.0, 1.0 + JITTER_RATIO)
