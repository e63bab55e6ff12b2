"""Chroma rewrites its index now and then, so that its log stays short; a process killed in the middle costs no fact."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.mem0_store.chroma import flush_marker
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, open_follower

ANN = Scope("gaia", "ann")
AFTER = 100
FACTS = [f"Ann's fact number {n} is about saffron" for n in range(350)]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few hundred facts do what thousands do."""
    monkeypatch.setattr(flush_marker, "FLUSH_THRESHOLD_WRITES", AFTER)


def index_of(folder: Path) -> list[int]:
    """Return what changes with each rewriting of the index."""
    return [path.stat().st_mtime_ns for path in folder.glob("*/index_metadata.pickle")]


def watched(memory: FollowerHarness, folder: Path) -> list[tuple[bool, bool]]:
    """Return a list that grows by each write of Chroma's: was it marked, did it rewrite the index?"""
    store = memory.follower._writer.store
    assert isinstance(store, ChromaStore)
    seen: list[tuple[bool, bool]] = []
    collection = store._collection

    def noting(write: Any) -> Any:
        def written(**arguments: Any) -> Any:
            is_marked, before = flush_marker.was_interrupted(folder), index_of(folder)
            result = write(**arguments)
            seen.append((is_marked, index_of(folder) != before))
            return result

        return written

    collection.upsert, collection.delete = noting(collection.upsert), noting(collection.delete)
    return seen


async def filled(home: Path, count: int = len(FACTS)) -> Path:
    """Leave a home with a store that was closed in order; return its folder."""
    async with open_follower(home) as memory:
        await memory.add(ANN, *FACTS[:count])
        await memory.follower.settled(stall_seconds=60)
        return memory.folder(await memory.store_id())


def log_of(folder: Path) -> int:
    """Return how many writes Chroma reads at each further one, of a folder that is not open."""
    with contextlib.closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        return int(database.execute("SELECT count(*) FROM embeddings_queue").fetchone()[0])


async def test_the_log_that_each_write_reads_stays_short(tmp_path: Path) -> None:
    """A log of all facts makes filling a store cost their square, and each start read all of them."""
    folder = await filled(tmp_path / "home")

    assert await asyncio.to_thread(log_of, folder) < AFTER
    assert await asyncio.to_thread(index_of, folder)
    assert await asyncio.to_thread(lambda: (folder / "gaia-log-length").stat().st_mode & 0o777) == 0o600


@pytest.mark.parametrize("is_clean", [True, False])
async def test_the_index_is_rewritten_under_a_mark_and_only_then(tmp_path: Path, is_clean: bool) -> None:
    """Also after a start, in order or not: how long the log was is known from the note, or from a look into it."""
    home = tmp_path / "home"
    folder = await filled(home, 60)
    if not is_clean:
        folder.with_name(folder.name + ".closed.json").unlink()
        (folder / "gaia-log-length").unlink()
    async with open_follower(home, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=60)
        seen = watched(memory, folder)
        for start in range(60, 300, 20):
            added = await memory.add(ANN, *FACTS[start : start + 20])
            await memory.follower.settled(stall_seconds=60)
            await memory.delete(ANN, added[0].id, added[1].id)
            await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() == folder.name
        assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)

    assert sum(was_rewritten for _, was_rewritten in seen) >= 2
    assert [each for each in seen if each[0] != each[1]] == []
    assert not await asyncio.to_thread(flush_marker.was_interrupted, folder)


@pytest.mark.parametrize("is_marked", [True, False])
async def test_a_store_whose_index_was_cut_short_is_begun_anew(tmp_path: Path, is_marked: bool) -> None:
    """It may open and crash a later search; any other that was not closed in order is compared and kept."""
    home = tmp_path / "home"
    folder = await filled(home)
    folder.with_name(folder.name + ".closed.json").unlink()
    if is_marked:
        (folder / "gaia-index-is-written").touch()
    async with open_follower(home, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert (await memory.store_id() != folder.name) is is_marked
        assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)
        assert FACTS[7] in await memory.search_mem0(ANN, FACTS[7])
        assert memory.embedder.calls == 0
