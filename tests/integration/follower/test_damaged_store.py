"""A damaged, missing or foreign store is detected before it is used, and rebuilt without a model call."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, open_follower
from support.storage.plain_mem0 import mem0_facts

ANN = Scope("gaia", "ann")
OFFLINE = {"provider": "offline"}
FACTS = [f"Ann's fact number {n} is about saffron" for n in range(40)]


async def filled(home: Path) -> str:
    """Leave a home with a cleanly closed store; return the store's id."""
    async with open_follower(home) as memory:
        await memory.add(ANN, *FACTS)
        await memory.follower.settled(stall_seconds=60)
        return await memory.store_id()


async def followed_without_a_model(memory: FollowerHarness) -> str:
    """Wait for the store; check that it holds the facts and that no model was asked; return its id."""
    await memory.follower.settled(stall_seconds=60)

    assert sorted((await memory.mem0_facts(ANN)).values()) == sorted(FACTS)
    assert memory.embedder.calls == 0
    assert FACTS[7] in await memory.search_mem0(ANN, FACTS[7])
    return await memory.store_id()


def truncated(folder: Path) -> None:
    database = folder / "chroma.sqlite3"
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size // 2)


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def of_foreign_make(folder: Path) -> None:
    """Create a store that Chroma can open and that is not ours."""
    shutil.rmtree(folder)
    script = (
        "import sys, chromadb\n"
        "with chromadb.PersistentClient(sys.argv[1]) as client:\n"
        "    made = client.create_collection('gaia', embedding_function=None)\n"
        "    made.add(ids=['x'], embeddings=[[1.0, 0.0]], metadatas=[{'data': 'somebody else', 'user_id': 'u'}])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True)


@pytest.mark.parametrize("damage", [truncated, removed, of_foreign_make])
async def test_a_damaged_store_is_rebuilt_from_the_database_without_a_model(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The next start creates a new store, removes the old folder and asks no model."""
    home = tmp_path / "home"
    before = await filled(home)
    await asyncio.to_thread(damage, home / "store" / before)
    async with open_follower(home, embedder_down=True) as memory:
        after = await followed_without_a_model(memory)

        assert after != before
        assert {path.name for path in (home / "store").iterdir()} == {after, "current"}
        assert memory.follower.trouble is None


@pytest.mark.parametrize("is_noted", [True, False])
async def test_a_store_is_opened_again_only_if_it_was_closed_cleanly(tmp_path: Path, is_noted: bool) -> None:
    """A folder that a killed process left may crash whoever opens it, so nobody does."""
    home = tmp_path / "home"
    before = await filled(home)
    if not is_noted:
        (home / "store" / f"{before}.closed").unlink()
    async with open_follower(home, embedder_down=True) as memory:
        assert (await followed_without_a_model(memory) == before) is is_noted
        assert {path.name for path in (home / "store").iterdir()} == {await memory.store_id(), "current"}


@pytest.mark.slow
async def test_a_store_that_fails_during_a_write_is_rebuilt(tmp_path: Path) -> None:
    """An error of Chroma in this process costs a rebuild, not facts."""
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(ANN, *FACTS[:20])
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()

        def broken(**_: object) -> None:
            raise RuntimeError("InternalError: Error finding id")

        memory.follower._writer.store._collection.upsert = broken  # type: ignore[union-attr]
        await memory.add(ANN, *FACTS[20:])
        memory.embedder.calls = 0

        assert await followed_without_a_model(memory) != before


@pytest.mark.slow
async def test_a_store_that_cannot_be_opened_is_reported_and_retried_with_growing_pauses(tmp_path: Path) -> None:
    """The follower reports the problem, does not spin, and recovers by itself."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "store").write_text("a file where the folder should be")
    async with open_follower(home) as memory:
        await memory.add(ANN, *FACTS)
        async with asyncio.timeout(60):
            while memory.follower.trouble is None:
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        failures = memory.follower._failures

        assert failures <= 4
        assert "cannot be brought up to date" in memory.follower.trouble

        (home / "store").unlink()
        await followed_without_a_model(memory)


async def test_recall_works_from_the_database_while_a_damaged_store_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No user operation waits for the store; `status` reports its progress."""
    home = tmp_path / "home"
    settings = {"model": "offline", "memory": {"llm": OFFLINE, "embedder": OFFLINE}}
    async with open_memory(settings, home=home) as gaia:
        ann = gaia.scope("ann")
        await gaia.memory.remember(ann, "Ann is allergic to walnuts")
        await gaia.memory.settled()
        before = (await gaia.memory.status(ann)).store
    (home / "store" / before / "chroma.sqlite3").write_bytes(b"foreign bytes" * 1000)

    rebuilding, go_on = threading.Event(), threading.Event()
    write = ChromaStore.write

    def slow(store: ChromaStore, *args: Any) -> list[str]:
        rebuilding.set()
        assert go_on.wait(60)
        return write(store, *args)

    monkeypatch.setattr(ChromaStore, "write", slow)
    async with open_memory(settings, home=home) as gaia:
        try:
            assert await asyncio.to_thread(rebuilding.wait, 60)
            hits = await gaia.memory.recall(ann, "Ann is allergic to walnuts")
            during = await gaia.memory.status(ann)
            kept = await gaia.memory.remember(ann, "Ann plays the ocarina")
        finally:
            go_on.set()
        await gaia.memory.settled()
        after = await gaia.memory.status(ann)
        listed = await mem0_facts(gaia, ann)

    assert [(hit.fact.text, hit.missing) for hit in hits] == [("Ann is allergic to walnuts", ())]
    assert (during.state, during.facts, during.lag) == ("ok", 1, 1)
    assert after.store not in ("", before)
    assert sorted(listed.values()) == ["Ann is allergic to walnuts", kept.text]
