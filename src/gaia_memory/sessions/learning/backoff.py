"""When a conversation that could not be learned is tried again, and how long a model that is away is left alone."""

from __future__ import annotations

import random

from tenacity import RetryCallState, Retrying, wait_exponential

PARK_AFTER = 8
"""Bad answers in a row before a conversation waits for somebody to look; an unreachable model never parks."""

LONGEST_NAMED_PAUSE = 3600.0
"""A provider that names a longer pause before the next question is not believed: it may be back much earlier."""

SPREAD = 0.25
"""How much longer a pause may be, by chance: what failed together does not come back together."""

_OUTAGE = wait_exponential(multiplier=15.0, max=600.0 / (1 + SPREAD))
_FAILURE = wait_exponential(multiplier=60.0, max=3600.0 / (1 + SPREAD))


def after_outages(count: int, *, named: float | None = None) -> float:
    """Return the seconds to wait after so many times in a row that the model could not be reached.

    A quarter of a minute, doubled up to ten minutes, so that nobody waits long once it is back; and not less than
    the pause `named` by the provider.
    """
    return max(_jittered(_OUTAGE, count), min(named or 0.0, LONGEST_NAMED_PAUSE))


def after_failures(count: int) -> float:
    """Return the seconds to wait after so many bad answers, or other failures: a minute, doubled up to an hour."""
    return _jittered(_FAILURE, count)


def _jittered(usual: wait_exponential, count: int) -> float:
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(count, 1)
    return usual(state) * random.uniform(1.0, 1.0 + SPREAD)
