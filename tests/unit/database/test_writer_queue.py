"""The queue of the writers of one SQLite engine."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gaia_memory.database import sqlite
from gaia_memory.database.sql_engine import Database
from gaia_memory.database.sqlite import WriterQueue
from gaia_memory.errors import MemoryUnavailable
from support.databases import memory_database


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


async def test_those_turned_away_hear_that_memory_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like the writer in front of them, who waited for a stranger's lock until the driver gave up."""
    monkeypatch.setattr(sqlite, "_PRAGMAS", ("busy_timeout=300",))
    async with memory_database("sqlite", tmp_path) as database:
        with closing(sqlite3.connect(str(database.engine.url.database), isolation_level=None)) as stranger:
            stranger.execute("BEGIN IMMEDIATE")
            writers = [_write(database) for _ in range(4)]
            errors = await asyncio.gather(*writers, return_exceptions=True)

    assert [type(error) for error in errors] == [MemoryUnavailable] * 4
    assert all("locked" in str(error) for error in errors)


async def _write(database: Database) -> None:
    async with database.transaction():
        pass
