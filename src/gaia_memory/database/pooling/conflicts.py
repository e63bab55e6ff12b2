"""Conflicts between transactions, which a server ends by refusing one of them: that one is tried again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from gaia_memory.errors import MemoryUnavailable

_CONFLICT_STATES = frozenset({"40001", "40P01"})
"""PostgreSQL's codes of a serialization failure and of a deadlock."""

_PAUSES_SECONDS = (0.02, 0.05, 0.1, 0.2, 0.4)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def retries_conflicts(
    work: Callable[_Arguments, Awaitable[_Result]],
) -> Callable[_Arguments, Awaitable[_Result]]:
    """Run `work`, which is one transaction and nothing else, again when the server ended it for another one."""

    @wraps(work)
    async def run(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        for pause in _PAUSES_SECONDS:
            try:
                return await work(*arguments, **options)
            except MemoryUnavailable as error:
                if not _is_conflict(error):
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
        return await work(*arguments, **options)

    return run


def _is_conflict(error: MemoryUnavailable) -> bool:
    # By its attributes, because a program that only opens memory does not load SQLAlchemy.
    return getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) in _CONFLICT_STATES
