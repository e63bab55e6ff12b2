"""Blocking calls in threads, whose errors always reach the task that waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_thread(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a blocking call, which is made in a thread of the event loop's own pool.

    Raises:
        RuntimeError: the call ended in `StopIteration`, or in an error that would stop the event loop.
    """
    return await asyncio.to_thread(call_for_task, call, *args, **kwargs)  # noqa: TID251 - this is the place


def call_for_task(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a call; raise `RuntimeError` for what a task cannot receive.

    A future refuses `StopIteration`, so the task would wait for ever; `SystemExit` and the like would stop its loop.
    """
    try:
        return call(*args, **kwargs)
    except BaseException as error:  # The call may raise anything.
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise
        raise RuntimeError(f"a call in a thread ended in {type(error).__name__}") from error
