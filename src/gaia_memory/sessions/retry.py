"""When a conversation that could not be learned is tried again."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying, wait_exponential_jitter

PARK_AFTER = 8
"""Bad answers in a row before a conversation waits for somebody to look; an unreachable model never parks."""

_WAIT = wait_exponential_jitter(initial=60.0, max=3600.0, exp_base=2.0, jitter=30.0)


def retry_after(attempts: int) -> float:
    """Return the seconds to wait after the given number of failures: one minute, doubled up to an hour, jittered."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempts
    return _WAIT(state)
