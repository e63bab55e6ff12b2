"""Stores that are not our own folder: another of mem0's vector stores, and a Chroma server."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store.ownership import StoreOwner, StoreOwnership
from gaia_memory.backend.mem0_store.store import next_store_id
from gaia_memory.ledger import is_owner_dead, new_owner, process_name
from gaia_memory.models import Scope
from gaia_memory.ports import Clock
from support.servers.chroma_server import chroma_server
from support.storage.follower import FollowerHarness, RealClock, open_follower
from support.storage.plain_mem0 import mem0_facts

ANN, BEN = Scope("gaia", "ann"), Scope("gaia", "ben")
OFFLINE = {"provider": "offline"}


@pytest.fixture
def qdrant(tmp_path: Path) -> dict[str, Any]:
    """Return the configuration of a Qdrant store, which mem0's own adapter serves."""
    return {"provider": "qdrant", "path": str(tmp_path / "qdrant"), "on_disk": True}


@pytest.fixture(scope="module", name="chroma_server")
def _chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run a Chroma server on loopback and return the configuration for it."""
    with chroma_server(tmp_path_factory.mktemp("server")) as settings:
        yield settings


async def check_following(memory: FollowerHarness) -> None:
    """Write, delete and forget; the store contains exactly the remaining facts."""
    facts = await memory.add(ANN, "Ann plays the ocarina", "Ann lives in Haifa")
    await memory.add(BEN, "Ben bakes sourdough")
    await memory.follower.settled(stall_seconds=60)

    assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)
    assert "Ben bakes sourdough" in await memory.search_mem0(BEN, "sourdough")

    await memory.delete(ANN, facts[0].id)
    await memory.forget(BEN)
    await memory.follower.settled(stall_seconds=60)

    assert list((await memory.mem0_facts(ANN)).values()) == ["Ann lives in Haifa"]
    assert await memory.mem0_facts(BEN) == {}
    async with memory.database.read_transaction() as tx:
        assert await memory.outbox.pending_erasures(tx) == []
    assert memory.follower.trouble is None


async def check_adopting(home: Path, store: dict[str, Any]) -> None:
    """Open a store again, first unchanged, then after the database has recorded a different store id."""
    async with open_follower(home, store=store, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()
        another = next_store_id(before)
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann lives in Haifa"]
    async with open_follower(home, store=store, started=False, embedder_down=True) as memory:
        async with memory.database.transaction() as tx:
            await memory.outbox.reset_store(tx, another)
        memory.follower.start(after=0)
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() not in (before, another)
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann lives in Haifa"]
        assert memory.embedder.calls == 0


async def test_another_vector_store_follows_and_is_rebuilt_if_its_id_differs(
    tmp_path: Path, qdrant: dict[str, Any]
) -> None:
    """The store carries its id in a row without a user; with another id it is rewritten."""
    async with open_follower(tmp_path / "home", store=qdrant) as memory:
        await check_following(memory)
    await check_adopting(tmp_path / "home", qdrant)


@pytest.mark.slow
async def test_a_chroma_server_follows_and_is_rebuilt_if_its_id_differs(
    tmp_path: Path, chroma_server: dict[str, Any]
) -> None:
    """The collection carries the id; no folder is created under the home."""
    async with open_follower(tmp_path / "home", store=chroma_server) as memory:
        await check_following(memory)
        assert not (tmp_path / "home" / "store").exists()
    await check_adopting(tmp_path / "home", chroma_server)


async def test_a_fact_forgotten_while_it_is_written_leaves_a_server_store_again(
    tmp_path: Path, qdrant: dict[str, Any]
) -> None:
    """The batch is read again after the write: another owner may have followed the delete meanwhile."""
    async with open_follower(tmp_path / "home", store=qdrant) as memory:
        await memory.follower.settled(stall_seconds=60)
        store = memory.follower._writer.store
        write = store.write  # type: ignore[union-attr]
        loop = asyncio.get_running_loop()

        def forgotten_meanwhile(facts: Any, gone: Any) -> list[str]:
            if facts:
                asyncio.run_coroutine_threadsafe(forget_and_follow(), loop).result(60)
            return write(facts, gone)

        async def forget_and_follow() -> None:
            await memory.delete(ANN, added[0].id)
            async with memory.database.transaction() as tx:
                await memory.outbox.acknowledge(tx, await memory.outbox.dirty(tx, limit=10))

        store.write = forgotten_meanwhile  # type: ignore[method-assign,union-attr]
        added = await memory.add(ANN, "Ann plays the ocarina")
        await memory.follower.settled(stall_seconds=60)

        # The other owner's work is settled sooner than the look of this one.
        async with asyncio.timeout(60):
            while await memory.mem0_facts(ANN) != {}:
                await asyncio.sleep(0.01)


def lease_of(
    memory: FollowerHarness, owner: str, *, seconds: float, clock: Clock | None = None, lock_path: Path | None = None
) -> StoreOwnership:
    """Return the ownership that somebody may have of the store of a rig."""
    return StoreOwnership(
        memory.database,
        memory.outbox,
        clock or RealClock(),
        StoreOwner(owner, is_owner_dead),
        lock_path=lock_path,
        lease_seconds=seconds,
    )


async def test_the_lease_of_a_killed_process_is_not_waited_for(tmp_path: Path) -> None:
    """A restart on the same machine gets the store at once."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await child.wait()
    system = process_name().rpartition(":")[2].partition("-")[0]
    async with open_follower(tmp_path / "home", started=False) as memory:
        dead = lease_of(memory, f"{platform.node()}:{child.pid}:{system}-1/a1b2", seconds=300)
        stranger = lease_of(memory, f"{platform.node()}:{child.pid}:another-1/a1b2", seconds=300)
        living = lease_of(memory, new_owner(), seconds=300)
        other = lease_of(memory, new_owner(), seconds=300)

        assert await dead.acquire()
        assert await living.acquire()
        assert not await other.acquire()
        assert not await dead.acquire()
        await living.release()
        assert await stranger.acquire()
        assert not await living.acquire()


@pytest.mark.slow
async def test_of_two_engines_of_one_process_one_owns_the_store_on_a_server(
    tmp_path: Path, chroma_server: dict[str, Any]
) -> None:
    """Two configurations in one process are two owners; when the first is closed, the second takes over."""
    store = {**chroma_server, "collection_name": "two"}
    settings = {"memory": {"vector_store": store, "llm": OFFLINE, "embedder": OFFLINE}, "model": "offline"}
    address = f"sqlite+aiosqlite:///{tmp_path / 'memory.db'}"
    settings["memory"]["database_url"] = address
    async with open_memory(settings, home=tmp_path / "two") as two:
        async with open_memory(settings, home=tmp_path / "one") as one:
            await one.memory.remember(one.scope("ann"), "Ann plays the ocarina")
            await asyncio.gather(one.memory.settled(), two.memory.settled())
            followers = [each._engine.follower for each in (one, two)]
            first = next(each for each in followers if each.is_owner)

            assert [each.is_owner for each in followers].count(True) == 1
            assert one._engine.owner != two._engine.owner
        if first is followers[0]:
            await two.memory.settled()
        status = await two.memory.status(two.scope("ann"))

        assert two._engine.follower.is_owner
        assert status.owner == f"process {os.getpid()} on {platform.node()}"
        assert list((await mem0_facts(two, "ann")).values()) == ["Ann plays the ocarina"]


async def test_two_homes_on_a_server_database_do_not_take_the_store_from_each_other(tmp_path: Path) -> None:
    """Each home has its own lock file; the lease decides between them."""
    async with open_follower(tmp_path / "home", started=False) as memory:
        one, two = (
            lease_of(memory, f"host:{number}:0", seconds=5, lock_path=tmp_path / f"{number}.lock") for number in (1, 2)
        )

        assert await one.acquire()
        assert not await two.acquire()
        await one.release()
        assert await two.acquire()
        await two.release()
