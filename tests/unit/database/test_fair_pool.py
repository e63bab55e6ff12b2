"""The pool that hands its connections on in order of arrival."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from gaia_memory.database.pooling.fair_pool import FairPool

OpenEngine = Callable[..., AbstractAsyncContextManager[AsyncEngine]]


@pytest.fixture
def open_engine(tmp_path: Path) -> OpenEngine:
    """Return what opens an engine with one connection."""

    @asynccontextmanager
    async def open_one(pool: type[AsyncAdaptedQueuePool] = FairPool, wait: float = 10) -> AsyncIterator[AsyncEngine]:
        url = f"sqlite+aiosqlite:///{tmp_path / 'pool.db'}"
        engine = create_async_engine(url, poolclass=pool, pool_size=1, max_overflow=0, pool_timeout=wait)
        yield engine
        await engine.dispose()

    return open_one


async def line_up(engine: AsyncEngine, names: str, order: list[str]) -> dict[str, asyncio.Task[None]]:
    """Let tasks ask for a connection one after the other."""

    async def use(name: str) -> None:
        async with engine.connect():
            order.append(name)

    tasks = {name: asyncio.create_task(use(name)) for name in names}
    await asyncio.sleep(0)
    return tasks


async def return_and_ask_again(engine: AsyncEngine, connection: AsyncConnection, order: list[str]) -> None:
    """Return a connection and ask for one before anybody else runs."""
    await connection.close()
    async with engine.connect():
        order.append("again")


async def test_who_waits_gets_the_connection_before_who_comes_later(open_engine: OpenEngine) -> None:
    """In order of arrival, also before the one that returned it and asks again at once."""
    order: list[str] = []
    async with open_engine() as engine:
        connection = await engine.connect()
        tasks = await line_up(engine, "abc", order)
        await return_and_ask_again(engine, connection, order)
        await asyncio.gather(*tasks.values())

    assert order == ["a", "b", "c", "again"]


@pytest.mark.skipif(sqlalchemy.__version__ < "2.1", reason="the pool of 2.0 is fair as long as nobody gives up")
async def test_the_pool_of_sqlalchemy_lets_others_overtake(open_engine: OpenEngine) -> None:
    """If this fails, its pool has become fair, and `FairPool` can go."""
    order: list[str] = []
    async with open_engine(AsyncAdaptedQueuePool) as engine:
        connection = await engine.connect()
        tasks = await line_up(engine, "abc", order)
        await return_and_ask_again(engine, connection, order)
        await asyncio.gather(*tasks.values())

    assert order[0] == "again"


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_cancelled_waiter_takes_no_connection_with_it(open_engine: OpenEngine, is_late: bool) -> None:
    """Also if the connection comes as it is cancelled: the next one has it then."""
    order: list[str] = []
    async with open_engine() as engine:
        connection = await engine.connect()
        tasks = await line_up(engine, "abc", order)
        if not is_late:
            tasks["a"].cancel()
        await connection.close()
        if is_late:
            tasks["a"].cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        async with asyncio.timeout(5), engine.connect():
            order.append("later")

    assert tasks["a"].cancelled()
    assert order == ["b", "c", "later"]


async def test_who_waits_too_long_is_refused_and_the_others_are_not(open_engine: OpenEngine) -> None:
    """After the time-out of the pool."""
    async with open_engine(wait=0.05) as engine:
        connection = await engine.connect()
        with pytest.raises(PoolTimeoutError):
            await engine.connect()
        await connection.close()
        async with asyncio.timeout(5), engine.connect():
            pass


async def test_no_connection_is_lost_among_many_who_come_and_give_up(open_engine: OpenEngine) -> None:
    """Two hundred, of whom every third is cancelled while it waits or works."""
    done: list[int] = []
    async with open_engine() as engine:

        async def use(number: int) -> None:
            async with engine.connect():
                await asyncio.sleep(0)
                done.append(number)

        tasks = [asyncio.create_task(use(number)) for number in range(200)]
        for number, task in enumerate(tasks):
            if number % 3 == 0:
                await asyncio.sleep(0)
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
        async with asyncio.timeout(5), engine.connect():
            done.append(-1)

    assert done[-1] == -1
    assert {number for number in range(200) if number % 3} <= set(done)
