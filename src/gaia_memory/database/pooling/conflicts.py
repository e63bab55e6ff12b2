"""Conflicts between transactions, which a server ends by refusing one of them: that one is tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from tenacity import retry, retry_if_exception, stop_after_attempt, wait_random_exponential

_CONFLICT_STATES = frozenset({"40001", "40P01"})
"""PostgreSQL's codes of a serialization failure and of a deadlock."""

_MAX_ATTEMPTS, _FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 6, 0.05, 0.5

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def retries_conflicts(
    work: Callable[_Arguments, Awaitable[_Result]],
) -> Callable[_Arguments, Awaitable[_Result]]:
    """Run `work`, which is one transaction and nothing else, again when the server ended it for another one."""
    retrying = retry(
        retry=retry_if_exception(_is_conflict),
        stop=stop_after_attempt(_MAX_ATTEMPTS),
        wait=wait_random_exponential(_FIRST_PAUSE_SECONDS, max=_MAX_PAUSE_SECONDS),
        reraise=True,
    )
    return retrying(work)


def _is_conflict(error: BaseException) -> bool:
    # By its attributes, because a program that only opens memory does not load SQLAlchemy.
    return getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) in _CONFLICT_STATES
