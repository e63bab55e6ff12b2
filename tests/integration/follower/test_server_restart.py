"""A Chroma server that goes away and comes back, as it was, empty or with an older copy."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.mem0_store import open_store
from gaia_memory.models import Scope
from support.servers.chroma_server import chroma_server, free_port
from support.storage.follower import FollowerHarness, open_follower

ANN, EVE = Scope("gaia", "ann"), Scope("gaia", "eve")
KNOWN = [f"Ann knows song number {number}" for number in range(120)]


@dataclass
class Site:
    """One memory and the folders that its Chroma server may use."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def store(self) -> dict[str, Any]:
        """The store as configured in gaia.yaml."""
        return {"provider": "chroma", "host": "127.0.0.1", "port": self.port}

    def server(self, name: str) -> Any:
        """Run the server on a folder."""
        return chroma_server(self.folder / name, port=self.port)

    @asynccontextmanager
    async def memory(self, name: str = "home") -> AsyncIterator[FollowerHarness]:
        """Open a memory whose embedder would record any call."""
        async with open_follower(self.folder / name, store=self.store, embedder_down=True) as opened:
            yield opened

    async def prepare(self) -> None:
        """Let Ann's memory know something."""
        with self.server("first"):
            async with self.memory() as memory:
                await memory.add(ANN, *KNOWN[:100])
                await memory.follower.settled(stall_seconds=60)


async def is_equal(memory: FollowerHarness) -> None:
    """Wait until plain mem0 lists the facts of the database."""
    current = await memory.database_facts(ANN)
    assert sorted(current.values()) == sorted(KNOWN)
    async with asyncio.timeout(60):
        while not memory.follower.is_ready or memory.follower._writer.is_rebuilding or await listed(memory) != current:
            await asyncio.sleep(0.02)


async def listed(memory: FollowerHarness) -> dict[str, str]:
    """Return the facts that plain mem0 lists, none while the store is closed or unavailable."""
    try:
        return await memory.mem0_facts(ANN)
    except Exception:
        return {}


@pytest.mark.slow
@pytest.mark.parametrize("is_seen_by", ["a write", pytest.param("a look", marks=pytest.mark.slow)])
async def test_a_server_that_comes_back_empty_is_brought_to_what_the_database_holds(
    tmp_path: Path, is_seen_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a running process, even if nothing is written meanwhile, and without a model call."""
    monkeypatch.setattr(open_store, "EXISTENCE_CHECK_SECONDS", 0.1 if is_seen_by == "a look" else 1e9)
    here = Site(tmp_path)
    await here.prepare()
    async with here.memory() as memory:
        with here.server("first"):
            await memory.add(ANN, *KNOWN[:-1])
            await memory.follower.settled(stall_seconds=60)
        if is_seen_by == "a write":
            await memory.add(ANN, *KNOWN)
        async with asyncio.timeout(60):
            while memory.follower.trouble is None:
                await asyncio.sleep(0.02)
        await memory.add(ANN, *KNOWN)
        with here.server("second"):
            await is_equal(memory)

        assert memory.embedder.calls == 0


@pytest.mark.slow
async def test_an_older_copy_of_a_store_gets_what_was_added_since(tmp_path: Path) -> None:
    """What was forgotten since is not in it: a forget gives the store another id."""
    here = Site(tmp_path)
    await here.prepare()
    shutil.copytree(here.folder / "first", here.folder / "older")
    with here.server("first"):
        async with here.memory() as memory:
            await memory.add(ANN, *KNOWN)
            await memory.follower.settled(stall_seconds=60)
    with here.server("older"):
        async with here.memory() as memory:
            await memory.follower.settled(stall_seconds=60)
            await memory.follower.settled(stall_seconds=60)
            assert await listed(memory) == await memory.database_facts(ANN)
