"""A follower starts in the background, stops quickly and leaves the store to the next one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from gaia_memory.backend.mem0_store.follower import StoreFollower
from gaia_memory.backend.mem0_store.ownership import StoreOwner
from gaia_memory.ledger import is_owner_dead
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, RealClock, open_follower

ANN = Scope("gaia", "ann")


async def always() -> bool:
    """Scrub nothing."""
    return True


def another(memory: FollowerHarness) -> StoreFollower:
    """Return a second follower over the same database and home."""
    return StoreFollower(
        memory.database,
        memory.outbox,
        memory.backend,
        RealClock(),
        home=memory.home,
        owner=StoreOwner("test-host:1:0", is_owner_dead),
        scrub=always,
    )


async def test_start_returns_at_once(tmp_path: Path) -> None:
    """The store is opened in the background."""
    async with open_follower(tmp_path / "home", started=False) as memory:
        memory.follower.start(after=0)

        assert not (memory.home / "store").exists()
        assert not memory.follower.is_owner


@pytest.mark.slow
async def test_stopping_is_quick_and_remaining_facts_are_followed_later(tmp_path: Path) -> None:
    """I19: a stop during much work takes little time and loses nothing."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)
        await memory.add(ANN, *[f"Ann's note {n}" for n in range(400)])
        await asyncio.sleep(0.1)
        began = time.perf_counter()
        await memory.follower.stop()
        took = time.perf_counter() - began
        async with memory.database.read_transaction() as tx:
            state = await memory.outbox.store(tx)

        assert took < 30
        assert state.lag > 0
        assert state.owner is None
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert len(await memory.mem0_facts(ANN)) == 400
        assert await memory.store_id() == state.store_id


@pytest.mark.slow
def test_a_follower_whose_loop_ended_releases_the_lock(tmp_path: Path) -> None:
    """After `asyncio.run` ended without a stop, the next loop owns the same store."""
    home = tmp_path / "home"
    left: list[StoreFollower] = []

    async def leave() -> str:
        async with open_follower(home, started=False) as memory:
            left.append(another(memory))
            left[0].start(after=0)
            await memory.add(ANN, "Ann plays the ocarina")
            await left[0].settled(stall_seconds=60)
            return await memory.store_id()

    async def enter() -> str:
        async with open_follower(home) as memory:
            await memory.follower.settled(stall_seconds=60)
            assert len(await memory.mem0_facts(ANN)) == 1
            return await memory.store_id()

    before = asyncio.run(leave())
    note = home / "store" / f"{before}.closed"
    noted_early = note.exists()
    left[0].close_without_loop()
    noted = note.exists()
    after = asyncio.run(enter())

    assert not noted_early
    assert noted
    assert after == before


async def test_the_store_is_opened_once_no_turn_is_running(tmp_path: Path) -> None:
    """Importing mem0 and Chroma stops a turn for seconds."""
    looks: list[bool] = []

    def is_busy() -> bool:
        looks.append(patient.is_owner)
        return len(looks) < 3

    async with open_follower(tmp_path / "home", started=False) as memory:
        patient = another(memory)
        patient.start(is_busy=is_busy)
        while not patient.is_owner:
            await asyncio.sleep(0.01)
        await patient.stop()

    assert looks == [False, False, False]


async def test_settled_does_not_wait_for_running_turns(tmp_path: Path) -> None:
    """A turn itself may ask for it."""
    async with open_follower(tmp_path / "home", started=False) as memory:
        await memory.add(ANN, "Likes tea.")
        patient = another(memory)
        patient.start(after=3600, is_busy=lambda: True)
        await patient.settled(stall_seconds=60)
        is_open = patient.is_ready
        await patient.stop()

    assert is_open


async def test_an_erasure_does_not_wait_for_running_turns(tmp_path: Path) -> None:
    """A process that ends within seconds would leave it to the next one, and that one again."""
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(ANN, "Likes tea.")
        await memory.follower.settled(stall_seconds=60)
        await memory.follower.stop()
        patient = another(memory)
        patient.start(after=3600, is_busy=lambda: True)
        await memory.forget(ANN)
        patient.wake()
        pending = 1
        while pending:
            await asyncio.sleep(0.01)
            async with memory.database.read_transaction() as tx:
                pending = (await memory.outbox.store(tx)).erasures
        await patient.stop()

    assert not pending
