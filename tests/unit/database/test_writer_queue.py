"""The queue of the writers of one SQLite engine."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.database.pooling.writer_queue import WriterQueue


async def enter_all(queue: WriterQueue, names: str, order: list[str]) -> dict[str, asyncio.Task[None]]:
    """Let writers arrive one after the other."""

    async def write(name: str) -> None:
        async with queue.turn():
            order.append(name)
            await asyncio.sleep(0)

    tasks = {name: asyncio.create_task(write(name)) for name in names}
    await asyncio.sleep(0)
    return tasks


async def test_writers_have_their_turn_in_order_of_arrival() -> None:
    """Each when the one before it has left."""
    queue, order = WriterQueue(), list[str]()
    await queue.enter()
    tasks = await enter_all(queue, "abc", order)
    before = list(order)
    queue.leave()
    await asyncio.gather(*tasks.values())

    assert (before, order) == ([], ["a", "b", "c"])


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_cancelled_writer_leaves_the_queue(is_late: bool) -> None:
    """Also if its turn comes as it is cancelled: the next one has it then."""
    queue, order = WriterQueue(), list[str]()
    await queue.enter()
    tasks = await enter_all(queue, "abc", order)
    if is_late:
        queue.leave()
        tasks["a"].cancel()
    else:
        tasks["a"].cancel()
        queue.leave()
    await asyncio.gather(*tasks.values(), return_exceptions=True)

    assert order == ["b", "c"]
    assert tasks["a"].cancelled()
    await asyncio.wait_for(queue.enter(), 1)


async def test_waiting_writers_are_turned_away_together() -> None:
    """Those who come later wait again."""
    queue, order = WriterQueue(), list[str]()
    await queue.enter()
    tasks = await enter_all(queue, "ab", order)
    queue.refuse(OSError("locked"))
    later = await enter_all(queue, "c", order)
    queue.leave()
    refused = await asyncio.gather(*tasks.values(), return_exceptions=True)
    await later["c"]

    assert [str(error) for error in refused] == ["locked", "locked"]
    assert order == ["c"]
