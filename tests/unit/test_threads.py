"""Whatever a call in a thread raises reaches the task that waits."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.threads import run_in_thread


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt])
async def test_an_error_that_no_task_can_receive_becomes_one_that_it_can(raised: type[BaseException]) -> None:
    """Otherwise the task waits for ever, or the event loop ends."""

    def call() -> None:
        raise raised("said in private")

    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError, match=f"ended in {raised.__name__}$"):
            await run_in_thread(call)


async def test_an_ordinary_error_stays_what_it_is() -> None:
    """Callers catch it by its name."""
    with pytest.raises(KeyError, match="x"):
        await run_in_thread({}.__getitem__, "x")
