"""A Chroma server that goes away and comes back with something else in it: the database is the truth."""

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
FOREIGN = "Eve keeps bees"

slow = pytest.mark.slow


@dataclass
class Site:
    """One memory and the folders that its Chroma server may stand on."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def store(self) -> dict[str, Any]:
        """The store as gaia.yaml names it."""
        return {"provider": "chroma", "host": "127.0.0.1", "port": self.port}

    def server(self, name: str) -> Any:
        """Run the server on a folder."""
        return chroma_server(self.folder / name, port=self.port)

    @asynccontextmanager
    async def memory(self, name: str = "home") -> AsyncIterator[FollowerHarness]:
        """Open a memory whose embedder would say so if it was asked."""
        async with open_follower(self.folder / name, store=self.store, embedder_down=True) as opened:
            yield opened

    async def prepare(self, with_what: str) -> None:
        """Let Ann's memory know something, and make the folder with which the server comes back."""
        with self.server("first"):
            async with self.memory() as memory:
                await memory.add(ANN, *KNOWN[:100])
                await memory.follower.settled(stall_seconds=60)
        if with_what == "an older copy":
            shutil.copytree(self.folder / "first", self.folder / "second")
        if with_what == "what another memory has written":
            with self.server("second"):
                async with self.memory("another home") as another:
                    await another.add(EVE, FOREIGN)
                    await another.follower.settled(stall_seconds=60)

    def set_aside(self) -> list[str]:
        """Return what stands in other collections than the current one."""
        import chromadb

        client = chromadb.HttpClient(host="127.0.0.1", port=self.port)
        others = [found for found in client.list_collections() if "-set-aside-" in found.name]
        texts = [str(row["data"]) for found in others for row in found.get()["metadatas"] or []]
        client._server._session.close()  # type: ignore[attr-defined]
        return texts


async def is_equal(memory: FollowerHarness) -> None:
    """Wait until plain mem0 lists what the database holds."""
    current = await memory.database_facts(ANN)
    assert sorted(current.values()) == sorted(KNOWN)
    async with asyncio.timeout(60):
        while not memory.follower.is_ready or memory.follower._writer.is_rebuilding or await listed(memory) != current:
            await asyncio.sleep(0.02)


async def listed(memory: FollowerHarness) -> dict[str, str]:
    """Return what plain mem0 lists, nothing while the store is closed or away."""
    try:
        return await memory.mem0_facts(ANN)
    except Exception:
        return {}


@pytest.mark.parametrize(
    ("with_what", "is_seen_by"),
    [
        ("nothing", "a write"),
        pytest.param("nothing", "a look", marks=slow),
        pytest.param("an older copy", "a look", marks=slow),
        ("what another memory has written", "a look"),
    ],
)
async def test_a_server_that_comes_back_with_something_else_is_brought_to_what_the_database_holds(
    tmp_path: Path, with_what: str, is_seen_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process that lives on, also where nothing is written meanwhile, and no model is asked."""
    monkeypatch.setattr(open_store, "EXISTENCE_CHECK_SECONDS", 0.1 if is_seen_by == "a look" else 1e9)
    here = Site(tmp_path)
    await here.prepare(with_what)
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
            kept = await asyncio.to_thread(here.set_aside)
            aside = await memory.follower.quarantined_stores()

        assert memory.embedder.calls == 0
        assert kept == ([FOREIGN] if with_what.startswith("what another") else [])
        assert len(aside) == len(kept)


@pytest.mark.parametrize(
    "with_what",
    [
        pytest.param("nothing", marks=slow),
        "an older copy",
        pytest.param("what another memory has written", marks=slow),
    ],
)
async def test_a_server_that_holds_something_else_at_a_start_is_brought_to_what_the_database_holds(
    tmp_path: Path, with_what: str
) -> None:
    """Nobody was there to see it; the copy carries the same label as the store it is a copy of."""
    here = Site(tmp_path)
    await here.prepare(with_what)
    with here.server("first"):
        async with here.memory() as memory:
            await memory.add(ANN, *KNOWN)
            await memory.follower.settled(stall_seconds=60)
    with here.server("second"):
        async with here.memory() as memory:
            await is_equal(memory)

            assert memory.embedder.calls == 0


async def test_a_server_that_comes_back_as_it_was_is_not_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compared with the database, and goes on being the same store."""
    monkeypatch.setattr(open_store, "EXISTENCE_CHECK_SECONDS", 0.1)
    here = Site(tmp_path)
    await here.prepare("nothing")
    async with here.memory() as memory:
        with here.server("first"):
            await memory.add(ANN, *KNOWN)
            await memory.follower.settled(stall_seconds=60)
            before = await memory.store_id()
        async with asyncio.timeout(60):
            while memory.follower.trouble is None:
                await asyncio.sleep(0.02)
        with here.server("first"):
            await is_equal(memory)
            async with asyncio.timeout(60):
                while memory.follower.trouble is not None:
                    await asyncio.sleep(0.02)

            assert await memory.store_id() == before
