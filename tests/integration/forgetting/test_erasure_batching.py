"""Many forgets are batched into few passes, and one that arrives during a pass does not restart it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.mem0_store import follower
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, open_follower

BEN = Scope("gaia", "ben")


def person(number: int) -> Scope:
    """Return one of many users."""
    return Scope("gaia", f"person{number}")


def counting(memory: FollowerHarness) -> list[set[int]]:
    """Return a list of the erasures in each pass that starts from now on."""
    begun: list[set[int]] = []
    renew = memory.follower._writer.recreate

    async def counted(state: Any, erasures: set[int]) -> list[int]:
        begun.append(set(erasures))
        return await renew(state, erasures)

    memory.follower._writer.recreate = counted  # type: ignore[assignment, method-assign]
    return begun


async def until(true: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def pending(memory: FollowerHarness) -> int:
    """Return the number of unfinished erasures."""
    async with memory.database.read_transaction() as tx:
        return len(await memory.outbox.pending_erasures(tx))


async def test_consecutive_forgets_share_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While no caller waits, more are collected first; forgotten facts leave the open store at once."""
    monkeypatch.setattr(follower, "RECREATION_INTERVAL_SECONDS", 3600.0)
    async with open_follower(tmp_path / "home") as memory:
        for number in range(5):
            await memory.add(person(number), f"person {number} likes tea")
        await memory.follower.settled(stall_seconds=60)
        begun = counting(memory)
        for number in range(4):
            await memory.forget(person(number))
        async with asyncio.timeout(60):
            while await memory.mem0_facts(person(3)):
                await asyncio.sleep(0.01)
        gathered = [len(await memory.mem0_facts(person(number))) for number in range(5)]
        noted, passes = await pending(memory), len(begun)
        monkeypatch.setattr(follower, "RECREATION_INTERVAL_SECONDS", 0.0)
        await until(lambda: bool(begun))
        await memory.follower.settled(stall_seconds=60)

        assert (gathered, noted, passes) == ([0, 0, 0, 0, 1], 4, 0)
        assert [len(erasures) for erasures in begun] == [4]
        assert await pending(memory) == 0


@pytest.mark.slow
async def test_a_forget_during_a_pass_waits_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass is not restarted, however many arrive; they are collected for the next one."""
    monkeypatch.setattr(follower, "BATCH_FACTS", 5)
    monkeypatch.setattr(follower, "RECREATION_INTERVAL_SECONDS", 0.0)
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
