"""Several processes on one home: one writes the store, the others wait for it and take over."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gaia_memory.models import Scope
from support.storage.follower import open_follower

ANN, BULK = Scope("gaia", "ann"), Scope("gaia", "bulk")
TESTS = Path(__file__).parents[2]


@asynccontextmanager
async def other_process(home: Path, facts: int = 0) -> AsyncIterator[Process]:
    """Run a process that owns the store of `home`, and stop it cleanly unless it has already ended."""
    environment = dict(os.environ, PYTHONPATH=str(TESTS))
    command = (sys.executable, "-m", "support.storage.follower_process", str(home), str(facts))
    child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=environment)
    assert child.stdout is not None
    try:
        assert await asyncio.wait_for(child.stdout.readline(), 60) == b"open\n"
        yield child
    finally:
        await end(child)


async def end(child: Process) -> None:
    """Stop a process cleanly."""
    if child.returncode is None:
        assert child.stdin is not None
        child.stdin.close()
        await asyncio.wait_for(child.wait(), 60)


@pytest.mark.slow
async def test_one_process_owns_the_store_and_the_other_waits_for_it(tmp_path: Path) -> None:
    """Facts written here reach the store there; after it ends, this process takes over."""
    home = tmp_path / "home"
    async with other_process(home) as owner, open_follower(home) as memory:
        await memory.add(ANN, "Ann plays the ocarina", "Ann lives in Haifa")
        await memory.follower.settled(stall_seconds=60)
        async with memory.database.read_transaction() as tx:
            state = await memory.outbox.store(tx)
        store_id = state.store_id

        assert state.owner == f"test-host:{owner.pid}:0"
        assert state.lag == 0

        await end(owner)
        await memory.follower.settled(stall_seconds=60)

        assert len(await memory.mem0_facts(ANN)) == 2
        assert await memory.store_id() == store_id


@pytest.mark.slow
async def test_an_erasure_requested_here_is_finished_by_the_owner_elsewhere(tmp_path: Path) -> None:
    """`settled` returns once the other process has recreated its store."""
    home = tmp_path / "home"
    async with other_process(home), open_follower(home) as memory:
        await memory.add(ANN, "the PIN word is ZEBRAFISH")
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()
        await memory.forget(ANN)
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() != before
        assert not memory.folder(before).exists()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 12), marks=pytest.mark.slow)])
async def test_a_kill_during_a_write_loses_no_fact(tmp_path: Path, seed: int | range) -> None:
    """Whenever the owner is killed, the next store contains exactly the facts of the database."""
    for number in [seed] if isinstance(seed, int) else seed:
        home = tmp_path / f"home{number}"
        chance = random.Random(number)
        async with other_process(home, facts=3000) as owner:
            assert owner.stdout is not None
            for _ in range(chance.randint(20, 30)):
                await owner.stdout.readline()
            await asyncio.sleep(chance.random() * 0.3)
            owner.send_signal(signal.SIGKILL)
            await owner.wait()
        async with open_follower(home) as memory:
            await memory.follower.settled(stall_seconds=60)
            current = await memory.database_facts(BULK)

            assert len(current) >= 1900
            assert await memory.mem0_facts(BULK) == current
            assert "bulk fact 1234" in await memory.search_mem0(BULK, "bulk fact 1234")
