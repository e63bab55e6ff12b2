"""Cuts off work at a chosen await: cancels its task there, or ends its event loop there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

WorkFactory = Callable[[], Coroutine[Any, Any, Any]]


class _CountingAwaitable:
    """A coroutine that calls `on_step` when it resumes for the given time."""

    def __init__(self, work: Coroutine[Any, Any, Any], step_number: int, on_step: Callable[[], object]) -> None:
        self.steps = 0
        self._work = work.__await__()
        self._step_number = step_number
        self._on_step = on_step

    def __await__(self) -> Generator[Any, Any, Any]:
        return self  # type: ignore[return-value]

    def __iter__(self) -> _CountingAwaitable:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        self.steps += 1
        if self.steps == self._step_number:
            self._on_step()
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()


def stop_loop_at_step(make: WorkFactory, step_number: int) -> bool:
    """Run in a loop that ends, like `asyncio.run` does, when the work resumes for the given time.

    Tasks scheduled in that very step have not begun. Return False if the work finished before.
    """
    loop = asyncio.new_event_loop()
    counted = _CountingAwaitable(make(), step_number, loop.stop)

    async def main() -> None:
        try:
            await counted
        finally:
            if counted.steps < step_number:
                loop.stop()

    asyncio.set_event_loop(loop)
    try:
        main_task = loop.create_task(main())
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.gather(main_task, *asyncio.all_tasks(loop), return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return counted.steps >= step_number


async def cancel_at_step(make: WorkFactory, step_number: int) -> tuple[bool, object]:
    """Cancel the work when it resumes for the given time; return whether that happened, and the outcome."""
    loop = asyncio.get_running_loop()
    # Not from the task itself: a running task is not waiting.
    counted = _CountingAwaitable(make(), step_number, lambda: loop.call_soon(task.cancel))

    async def main() -> Any:
        return await counted

    task = asyncio.create_task(main())
    [outcome] = await asyncio.gather(task, return_exceptions=True)
    return counted.steps >= step_number, outcome
