"""The thread pools run blocking calls off the event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.thread_pools import WorkerPool, WorkerPools
from gaia_memory.errors import MemoryClosedError


@pytest.mark.acceptance("L10")
async def test_the_event_loop_keeps_running_while_a_call_blocks() -> None:
    """A task keeps ticking."""
    pool, ticked = WorkerPool("t", 1), threading.Event()

    async def tick() -> None:
        for _ in range(5):
            await asyncio.sleep(0.01)
        ticked.set()

    ticker = asyncio.create_task(tick())
    has_ticked = await pool.run(ticked.wait, 30)
    await ticker
    await pool.close()

    assert has_ticked


@pytest.mark.acceptance("L11")
async def test_a_blocked_model_delays_no_embedding_and_no_other_model_call() -> None:
    """Each kind of call has its own threads, and more than one."""
    pools, door = WorkerPools(), threading.Event()
    blocked = asyncio.create_task(pools.model.run(door.wait, 60))
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        others = await asyncio.gather(
            pools.embedder.run(int, "1"), pools.model.run(int, "2"), pools.store.run(int, "3")
        )
    still_blocked = not blocked.done()
    door.set()
    await blocked
    await pools.close()

    assert others == [1, 2, 3]
    assert still_blocked


async def test_the_number_of_threads_is_limited() -> None:
    """Further calls wait and are all made."""
    pool, names, barrier = WorkerPool("bounded", 3), set(), threading.Semaphore(0)

    def call(number: int) -> int:
        names.add(threading.current_thread().name)
        barrier.acquire(timeout=60)
        return number

    calls = [asyncio.create_task(pool.run(call, number)) for number in range(9)]
    while len(names) < 3:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.02)
    busy = len(names)
    barrier.release(9)

    assert busy == 3
    assert await asyncio.gather(*calls) == list(range(9))
    await pool.close()


async def test_a_call_cancelled_while_waiting_is_not_made() -> None:
    """A model call without a caller would only cost money."""
    pool, door, made = WorkerPool("t", 1), threading.Event(), []
    first = asyncio.create_task(pool.run(door.wait, 60))
    second = asyncio.create_task(pool.run(made.append, 1))
    await asyncio.sleep(0.01)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    door.set()
    await first
    await pool.run(int)

    assert made == []
    await pool.close()


async def test_a_closed_pool_refuses_calls() -> None:
    """It raises an error instead of waiting for ever."""
    pool = WorkerPool("t", 1)
    await pool.run(int)
    await pool.close()
    with pytest.raises(MemoryClosedError, match="memory is closed: open it again"):
        await pool.run(int)


async def test_closing_waits_for_running_calls_up_to_a_limit() -> None:
    """A short call finishes, and a hanging one is abandoned."""
    done: list[int] = []
    short, hanging = WorkerPool("s", 1), WorkerPool("h", 1)
    begun, stuck_too, door = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.05)
        done.append(1)

    def hang() -> None:
        stuck_too.set()
        door.wait(60)
        door.set()

    task = asyncio.create_task(short.run(work))
    stuck = asyncio.create_task(hanging.run(hang))
    for each in (begun, stuck_too):
        assert await asyncio.to_thread(each.wait, 60)
    await short.close()
    await hanging.close(grace=0.1)
    left = not door.is_set()
    door.set()
    await asyncio.gather(task, stuck)

    assert done == [1]
    assert left


@pytest.mark.heavy
@pytest.mark.acceptance("L05")
def test_a_hanging_call_does_not_keep_the_process_alive() -> None:
    """The threads are daemons."""
    program = (
        "import asyncio, threading\n"
        "from gaia_memory.backend.thread_pools import WorkerPool\n"
        "async def main():\n"
        "    pool = WorkerPool('t', 1)\n"
        "    task = asyncio.create_task(pool.run(threading.Event().wait))\n"
        "    await asyncio.sleep(0.05)\n"
        "    task.cancel()\n"
        "    await pool.close(grace=0.05)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


async def test_blocking_access_is_refused_on_the_event_loop() -> None:
    """The error names the call; a worker thread is allowed."""
    pool = WorkerPool("t", 1)
    with pytest.raises(RuntimeError, match=r"Backend\.llm blocks"):
        assert_off_event_loop("Backend.llm")

    assert await pool.run(assert_off_event_loop, "Backend.llm") is None
    await pool.close()


def test_a_call_that_outlives_its_event_loop_does_no_harm() -> None:
    """Its thread then serves calls of another loop."""
    pool, door = WorkerPool("t", 1), threading.Event()

    async def leave() -> None:
        task = asyncio.create_task(pool.run(door.wait, 60))
        await asyncio.sleep(0.02)
        task.cancel()

    asyncio.run(leave())
    door.set()

    assert asyncio.run(pool.run(int, "7")) == 7
