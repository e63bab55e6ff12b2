"""Corrupted files of a store: plain mem0 still lists what the database contains, without a model call."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store.chroma import folders
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore
from gaia_memory.models import Fact, Scope
from support.storage.follower import open_follower

ANN, BEN = Scope("gaia", "ann"), Scope("gaia", "ben")
TESTS = Path(__file__).parents[2]
COUNT = 150
"""More than Chroma keeps outside its index."""

FACTS = [f"Ann's fact number {n} is about saffron" for n in range(COUNT)]
OFFLINE = {"provider": "offline"}
Damage = Callable[[Path, Fact, tuple[float, ...]], None]


async def filled(home: Path) -> tuple[str, Fact, tuple[float, ...]]:
    """Leave a home with a store that was closed in order; return its id and one of its facts with its vector."""
    async with open_follower(home) as memory:
        added = await memory.add(ANN, *FACTS)
        await memory.add(BEN, "Ben bakes sourdough")
        await memory.follower.settled(stall_seconds=60)
        async with memory.database.read_transaction() as tx:
            stored = (await memory.outbox.load_facts(tx, [added[70].id]))[added[70].id]
        store_id = await memory.store_id()
    assert stored.vector is not None
    return store_id, stored.fact, stored.vector


def replaced(folder: Path, old: bytes, new: bytes) -> None:
    """Replace every occurrence of some bytes in Chroma's database."""
    path = folder / "chroma.sqlite3"
    before = path.read_bytes()
    assert old in before
    path.write_bytes(before.replace(old, new))


def a_word(folder: Path, fact: Fact, vector: tuple[float, ...]) -> None:
    """Replace a text with another one of the same length."""
    replaced(folder, fact.text.encode(), b"x" * len(fact.text.encode()))


def noise(folder: Path, fact: Fact, vector: tuple[float, ...]) -> None:
    """Overwrite a page in the middle of the database."""
    chance = random.Random(3)
    with (folder / "chroma.sqlite3").open("r+b") as file:
        file.seek((folder / "chroma.sqlite3").stat().st_size // 2)
        file.write(chance.randbytes(6000))


def no_rows(folder: Path, fact: Fact, vector: tuple[float, ...]) -> None:
    """Truncate the database to zero bytes, which Chroma takes for a new one."""
    (folder / "chroma.sqlite3").write_bytes(b"")


@pytest.mark.parametrize("damage", [a_word, noise, no_rows])
async def test_damaged_rows_are_detected_at_the_start_and_the_store_is_rebuilt(tmp_path: Path, damage: Damage) -> None:
    """A row that reads well may be damaged: a folder that is not as it was closed is not opened."""
    home = tmp_path / "home"
    before, fact, vector = await filled(home)
    await asyncio.to_thread(damage, home / "store" / before, fact, vector)
    async with open_follower(home, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() != before
        assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)
        assert await memory.mem0_facts(BEN) == await memory.database_facts(BEN)
        assert memory.embedder.calls == 0
        assert fact.text in await memory.search_mem0(ANN, fact.text)


def foreign(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


CRASHING = """
import json, random, sys, chromadb
path, name, metadata = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
random.seed(1)
with chromadb.PersistentClient(path) as client:
    index = {"space": "cosine", "sync_threshold": 100, "batch_size": 50}
    made = client.create_collection(name, embedding_function=None, configuration={"hnsw": index}, metadata=metadata)
    for start in range(0, 400, 50):
        ids = [f"i{n}" for n in range(start, start + 50)]
        vectors = [[random.random() for _ in range(16)] for _ in ids]
        made.upsert(ids=ids, embeddings=vectors, metadatas=[{"data": "x", "user_id": "u"} for _ in ids])
    made.query(query_embeddings=vectors[:1], n_results=3)
"""


def crashing(folder: Path) -> None:
    """Create a store that carries our label and crashes any process that opens it: its index points nowhere."""
    label = "import chromadb, json, sys\nwith chromadb.PersistentClient(sys.argv[1]) as client:\n"
    label += "    [found] = client.list_collections()\n    print(json.dumps([found.name, found.metadata]))"
    told = subprocess.run([sys.executable, "-c", label, str(folder)], check=True, capture_output=True, text=True)
    name, metadata = json.loads(told.stdout)
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    subprocess.run([sys.executable, "-c", CRASHING, str(folder), name, json.dumps(metadata)], check=True)
    [header] = folder.glob("*/header.bin")
    # Each element of the index is its neighbours, its vector and its label.
    size, neighbours = (struct.unpack_from("<Q", header.read_bytes(), place)[0] for place in (28, 44))
    data = bytearray(header.with_name("data_level0.bin").read_bytes())
    for start in range(0, len(data), size):
        data[start : start + neighbours] = (struct.pack("<I", 16) + b"\xff\xff\xff\x7f" * 64)[:neighbours]
    header.with_name("data_level0.bin").write_bytes(data)


@pytest.mark.slow
async def test_an_open_that_crashes_the_process_is_tried_once_and_leads_to_a_new_store(tmp_path: Path) -> None:
    """Chroma reads addresses from its index: a damaged one that looks untouched ends one process with SIGSEGV."""
    home = tmp_path / "home"
    before, fact, _ = await filled(home)
    folder = home / "store" / before
    await asyncio.to_thread(crashing, folder)
    states = await asyncio.to_thread(folders._file_states, folder)
    (home / "store" / f"{before}.closed.json").write_text(json.dumps(states))
    command = (sys.executable, "-m", "support.storage.follower_process", str(home), "0")
    environment = dict(os.environ, PYTHONPATH=str(TESTS))
    child = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, env=environment)

    assert await asyncio.wait_for(child.wait(), 60) == -signal.SIGSEGV

    async with open_follower(home, embedder_down=True) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() != before
        assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)
        assert fact.text in await memory.search_mem0(ANN, fact.text)
        assert memory.embedder.calls == 0


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
        listed = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": ann.partition})

    assert [(hit.fact.text, hit.missing) for hit in hits] == [("Ann is allergic to walnuts", ())]
    assert (during.state, during.facts, during.lag) == ("ok", 1, 1)
    assert after.store not in ("", before)
    assert sorted(row["memory"] for row in listed["results"]) == ["Ann is allergic to walnuts", kept.text]
