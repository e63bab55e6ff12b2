"""Stores that are not a folder of ours: another of mem0's engines, and a Chroma server."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.follow.ownership import FolderLock, StoreLease
from gaia_memory.models import Scope
from support.follower import RealClock, Rig, rig

ANN, BEN = Scope("gaia", "ann"), Scope("gaia", "ben")


@pytest.fixture
def qdrant(tmp_path: Path) -> dict[str, Any]:
    """Return the configuration of a Qdrant store, an engine whose adapter is mem0's own."""
    return {"provider": "qdrant", "path": str(tmp_path / "qdrant"), "on_disk": True}


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run a Chroma server on loopback and return the configuration that means it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chroma = Path(sys.executable).with_name("chroma")
    command = [str(chroma), "run", "--path", str(tmp_path_factory.mktemp("server")), "--port", str(port)]
    environment = dict(os.environ, ANONYMIZED_TELEMETRY="False")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as server:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            server.poll()
            assert server.returncode is None
            time.sleep(0.05)
        yield {"provider": "chroma", "host": "127.0.0.1", "port": port}
        server.terminate()


async def check_following(memory: Rig) -> None:
    """Write, delete and forget; the store holds exactly what is left."""
    facts = await memory.add(ANN, "Ann plays the ocarina", "Ann lives in Haifa")
    await memory.add(BEN, "Ben bakes sourdough")
    await memory.follower.settled(stall_seconds=10)

    assert await memory.listed(ANN) == await memory.current(ANN)
    assert "Ben bakes sourdough" in await memory.found(BEN, "sourdough")

    await memory.delete(ANN, facts[0].id)
    await memory.forget(BEN)
    await memory.follower.settled(stall_seconds=10)

    assert list((await memory.listed(ANN)).values()) == ["Ann lives in Haifa"]
    assert await memory.listed(BEN) == {}
    async with memory.database.reading() as tx:
        assert await memory.outbox.erasures(tx) == []
    assert memory.follower.trouble is None


async def check_adopting(home: Path, store: dict[str, Any]) -> None:
    """Open a store again, once as it was left and once after the database was told of another one."""
    async with rig(home, store=store, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=10)
        before = await memory.store_id()
        assert list((await memory.listed(ANN)).values()) == ["Ann lives in Haifa"]
    async with rig(home, store=store, started=False, embedder_down=True) as memory:
        async with memory.database.transaction() as tx:
            await memory.outbox.renew(tx, "another-store")
        memory.follower.start()
        await memory.follower.settled(stall_seconds=10)

        assert await memory.store_id() not in (before, "another-store")
        assert list((await memory.listed(ANN)).values()) == ["Ann lives in Haifa"]
        assert memory.embedder.calls == 0


async def test_another_engine_of_mem0_follows_and_is_emptied_when_it_is_not_the_databases(
    tmp_path: Path, qdrant: dict[str, Any]
) -> None:
    """The store carries its id as a row of nobody's; with another id it is written anew."""
    async with rig(tmp_path / "home", store=qdrant) as memory:
        await check_following(memory)
    await check_adopting(tmp_path / "home", qdrant)


async def test_a_chroma_server_follows_and_is_emptied_when_it_is_not_the_databases(
    tmp_path: Path, chroma_server: dict[str, Any]
) -> None:
    """The collection carries the id; no folder is made under the home."""
    async with rig(tmp_path / "home", store=chroma_server) as memory:
        await check_following(memory)
        assert not (tmp_path / "home" / "store").exists()
    await check_adopting(tmp_path / "home", chroma_server)


async def test_what_is_forgotten_while_it_is_written_leaves_a_server_store_again(
    tmp_path: Path, qdrant: dict[str, Any]
) -> None:
    """The batch is read again after writing: another owner may have followed the delete meanwhile."""
    async with rig(tmp_path / "home", store=qdrant) as memory:
        await memory.follower.settled(stall_seconds=10)
        store = memory.follower._keeper.store
        write = store.write  # type: ignore[union-attr]
        loop = asyncio.get_running_loop()

        def forgotten_meanwhile(facts: Any, gone: Any) -> list[str]:
            if facts:
                asyncio.run_coroutine_threadsafe(forget_and_follow(), loop).result(10)
            return write(facts, gone)

        async def forget_and_follow() -> None:
            await memory.delete(ANN, added[0].id)
            async with memory.database.transaction() as tx:
                await memory.outbox.done(tx, await memory.outbox.dirty(tx, limit=10))

        store.write = forgotten_meanwhile  # type: ignore[method-assign,union-attr]
        added = await memory.add(ANN, "Ann plays the ocarina")
        await memory.follower.settled(stall_seconds=10)

        assert await memory.listed(ANN) == {}


async def test_a_lease_keeps_a_second_process_out_until_it_ends(tmp_path: Path) -> None:
    """On a server the database says who writes; a lease that is not renewed ends by itself."""
    async with rig(tmp_path / "home", started=False) as memory:
        one = StoreLease(memory.database, memory.outbox, RealClock(), "host:1:0", seconds=0.3)
        two = StoreLease(memory.database, memory.outbox, RealClock(), "host:2:0", seconds=0.3)

        assert await one.gain()
        assert not await two.gain()
        assert await one.keep()
        await asyncio.sleep(0.35)
        assert await two.gain()
        assert not await one.keep()
        await two.give_back()
        assert await one.gain()


async def test_on_a_server_database_two_homes_do_not_take_the_store_from_each_other(tmp_path: Path) -> None:
    """Each home has a lock of its own to hold; the lease decides between them."""
    async with rig(tmp_path / "home", started=False) as memory:
        locks = []
        for number in (1, 2):
            lease = StoreLease(memory.database, memory.outbox, RealClock(), f"host:{number}:0", seconds=5)
            locks.append(FolderLock(tmp_path / f"{number}.lock", memory.follower._pool, lease))
        one, two = locks

        assert await one.gain()
        assert not await two.gain()
        await one.give_back()
        assert await two.gain()
        await two.give_back()
