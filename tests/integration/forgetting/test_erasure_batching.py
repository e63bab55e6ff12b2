"""Many forgets are gathered into few passes, and one that comes in the middle of a pass does not begin it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.mem0_store import erasures, throttle
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, open_follower

BEN = Scope("gaia", "ben")


def person(number: int) -> Scope:
    """Return one of many people."""
    return Scope("gaia", f"person{number}")


def counting(memory: FollowerHarness) -> list[set[int]]:
    """Return the erasures of each pass that is begun from now on."""
    begun: list[set[int]] = []
    renew = memory.follower._writer.recreate

    async def counted(state: Any, erasures: set[int]) -> list[int]:
        begun.append(set(erasures))
        return await renew(state, erasures)

    memory.follower._writer.recreate = counted  # type: ignore[assignment, method-assign]
    return begun


async def until(true: Callable[[], bool]) -> None:
    """Wait for something."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def pending(memory: FollowerHarness) -> int:
    """Return how many erasures are not finished."""
    async with memory.database.read_transaction() as tx:
        return len(await memory.outbox.pending_erasures(tx))


async def test_forgets_that_come_one_after_another_are_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nobody waits they are given time to become more; what they forgot leaves the open store at once."""
    monkeypatch.setattr(erasures, "QUIET_SECONDS", 3600.0)
    monkeypatch.setattr(erasures, "MAX_GATHERING_SECONDS", 3600.0)
    async with open_follower(tmp_path / "home") as memory:
        for number in range(5):
            await memory.add(person(number), f"person {number} likes tea")
        await memory.follower.settled(stall_seconds=60)
        begun = counting(memory)
        for number in range(4):
            await memory.forget(person(number))
        async with asyncio.timeout(60):
            while memory.follower._contains_forgotten or await memory.mem0_facts(person(3)):
                await asyncio.sleep(0.01)
        gathered = [len(await memory.mem0_facts(person(number))) for number in range(5)]
        noted, passes = await pending(memory), len(begun)
        monkeypatch.setattr(erasures, "QUIET_SECONDS", 0.0)
        await until(lambda: bool(begun))
        await memory.follower.settled(stall_seconds=60)

        assert (gathered, noted, passes) == ([0, 0, 0, 0, 1], 4, 0)
        assert [len(erasures) for erasures in begun] == [4]
        assert await pending(memory) == 0


async def test_a_forget_in_the_middle_of_a_pass_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many come, the pass is not begun again; those that came meanwhile are gathered into the next one."""
    monkeypatch.setattr(throttle, "MAX_BATCH_FACTS", 5)
    monkeypatch.setattr(throttle, "REBUILD_BATCH_FACTS", 5)
    monkeypatch.setattr(erasures, "QUIET_SECONDS", 0.0)
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(BEN, *[f"Ben took trip {number}" for number in range(60)])
        for number in range(6):
            await memory.add(person(number), f"person {number} likes tea")
        await memory.follower.settled(stall_seconds=60)
        begun, told = counting(memory), []
        follow = memory.follower._writer.apply

        async def followed(rows: Any) -> Any:
            if begun and len(told) < 5:
                told.append(len(begun))
                await memory.forget(person(len(told)))
            return await follow(rows)

        memory.follower._writer.apply = followed  # type: ignore[method-assign]
        await memory.forget(person(0))
        await until(lambda: len(told) == 5)
        await memory.follower.settled(stall_seconds=60)

        assert told == [1] * 5
        assert [len(erasures) for erasures in begun] == [1, 5]
        assert await pending(memory) == 0
        assert len(await memory.mem0_facts(BEN)) == 60
        assert [await memory.mem0_facts(person(number)) for number in range(6)] == [{}] * 6


@pytest.mark.parametrize(
    ("is_awaited", "least"), [(False, throttle.PACED_BATCH_FACTS), (True, throttle.REBUILD_BATCH_FACTS)]
)
async def test_a_rebuild_that_holds_up_turns_takes_smaller_batches(
    tmp_path: Path, is_awaited: bool, least: int
) -> None:
    """A large store takes longer for each fact; batches shrink to those of ordinary writing, where nobody waits."""
    home = tmp_path / "home"
    async with open_follower(home, started=False) as memory:
        await memory.add(BEN, *[f"Ben took trip {number}" for number in range(140)])
        sizes: list[int] = []
        keeper = memory.follower._writer
        follow = keeper.apply

        async def slow(rows: Any) -> Any:
            sizes.append(len(rows))
            found = await follow(rows)
            keeper.write_seconds = throttle.SLOW_AWAITED_WRITE_SECONDS * 1.2
            return found

        keeper.apply = slow  # type: ignore[method-assign]
        memory.follower.start()
        waiting = asyncio.create_task(memory.follower.settled(stall_seconds=60)) if is_awaited else None
        await until(lambda: sum(sizes) > 125)
        if waiting is not None:
            await waiting

        assert sizes[0] == throttle.REBUILD_BATCH_FACTS
        assert max(sizes) == throttle.REBUILD_BATCH_FACTS
        assert least in sizes[1:]
