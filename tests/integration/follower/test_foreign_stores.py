"""A store that another database or plain mem0 has filled: it may be the last copy, so nobody empties it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest

from gaia_memory import open_memory
from gaia_memory.errors import StoreStalledError
from gaia_memory.models import Scope
from support.cli.cli_runner import run_gaia
from support.servers.chroma_server import chroma_server
from support.storage.follower import FollowerHarness, open_follower

ANN = Scope("gaia", "ann")


def lose_database(home: Path) -> dict[str, bytes]:
    """Remove the memory database, and return it to be put back."""
    files = {path.name: path.read_bytes() for path in home.glob("memory.db*")}
    for name in files:
        (home / name).unlink()
    return files


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run a Chroma server on loopback and return the configuration that means it."""
    with chroma_server(tmp_path_factory.mktemp("server")) as settings:
        yield settings


def texts_on(server: dict[str, Any], name: str) -> list[str]:
    """Return what a collection on a server holds."""
    client = chromadb.HttpClient(host=server["host"], port=server["port"])
    return sorted(str(row["data"]) for row in client.get_collection(name).get()["metadatas"] or [])


async def kept(memory: FollowerHarness, *texts: str) -> None:
    """Keep facts and let the store follow."""
    await memory.add(ANN, *texts)
    await memory.follower.settled(stall_seconds=60)


async def test_a_store_whose_database_is_gone_stays_where_it_is_until_that_comes_back(tmp_path: Path) -> None:
    """The new memory is empty, also for plain mem0; put back, the old one opens its own store again."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await kept(memory, "Ann plays the ocarina", "Ann lives in Haifa")
        old = await memory.store_id()
    files = lose_database(home)
    async with open_follower(home) as memory:
        await kept(memory, "Ann is new here")
        new = await memory.store_id()
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann is new here"]
        assert await memory.follower.foreign_stores() == [str(memory.folder(old))]
        await memory.forget(ANN)
        await memory.follower.settled(stall_seconds=60)

    lose_database(home)
    for name, content in files.items():
        (home / name).write_bytes(content)
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)
        assert await memory.store_id() == old
        assert sorted((await memory.mem0_facts(ANN)).values()) == ["Ann lives in Haifa", "Ann plays the ocarina"]
        assert await memory.follower.foreign_stores() != [str(memory.folder(new))]


async def test_other_files_beside_the_stores_are_left_alone(tmp_path: Path) -> None:
    """A configured path may be shared with other programs."""
    root = tmp_path / "shared"
    root.mkdir()
    (root / "notes.txt").write_text("mine")
    async with open_follower(tmp_path / "home", store={"provider": "chroma", "path": str(root)}) as memory:
        await kept(memory, "Ann plays the ocarina")
        await memory.forget(ANN)
        await memory.follower.settled(stall_seconds=60)

        assert {path.name for path in root.iterdir()} == {"notes.txt", "current", await memory.store_id()}


async def test_status_doctor_and_receipts_tell_of_another_databases_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No forget reaches it, and once it is removed nobody speaks of it any more."""
    home = tmp_path / "home"
    monkeypatch.setenv("GAIA_HOME", str(home))
    async with open_follower(home) as memory:
        await kept(memory, "Ann plays the ocarina")
        folder = memory.folder(await memory.store_id())
    lose_database(home)
    config = {"home": str(home), "model": "offline", "sessions": {"coalesce_seconds": 0}}
    async with open_memory(config) as opened:
        scope = opened.scope("ann")
        await opened.memory.remember(scope, "Ann lives in Haifa")
        tea = await opened.memory.remember(scope, "Ann likes tea")
        await opened.memory.settled()
        status = await opened.memory.status(scope)
        single = await opened.memory.forget(scope, fact_id=tea.id)
        receipt = await opened.memory.forget(scope)

        assert status.state == "degraded"
        assert str(folder) in status.reason
        assert "restore it" in status.remedy
        assert (single.count, receipt.count) == (1, 1)
        assert str(folder) in single.notes[-1]
        assert str(folder) in receipt.notes[-1]

    told = await asyncio.to_thread(run_gaia, "doctor", "--no-model")
    assert f"the data of another database is in {folder}" in " ".join(told.out.split())

    shutil.rmtree(folder)
    async with open_memory(config) as opened:
        await opened.memory.settled()
        assert (await opened.memory.status(scope)).state == "ok"
        assert (await opened.memory.forget(scope)).notes == ()


@pytest.mark.slow
async def test_a_collection_that_something_else_filled_is_refused_and_left_alone(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """Whoever has used mem0 so far loses nothing by the first start; an empty collection is taken."""
    store = {**server, "collection_name": "second"}
    client = await asyncio.to_thread(chromadb.HttpClient, host=server["host"], port=server["port"])
    collection = client.create_collection("second")
    collection.add(ids=["1"], embeddings=[[1.0, 0.0]], metadatas=[{"data": "years of memories", "user_id": "ann"}])
    async with open_follower(tmp_path / "home", store=store) as memory:
        await memory.add(ANN, "Ann plays the ocarina")
        with pytest.raises(StoreStalledError, match="name another collection"):
            await memory.follower.settled(stall_seconds=1)
        refused = await asyncio.to_thread(texts_on, server, "second")
        collection.delete(ids=["1"])
        await memory.follower.settled(stall_seconds=60)

        assert refused == ["years of memories"]
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann plays the ocarina"]


@pytest.mark.slow
async def test_another_engine_that_something_else_filled_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Facts are found all the same."""
    store: dict[str, Any] = {"provider": "qdrant", "path": str(tmp_path / "qdrant"), "on_disk": True}
    async with open_follower(tmp_path / "old", store=store) as memory:
        await kept(memory, "Ann plays the ocarina")
    async with open_follower(tmp_path / "new", store=store) as memory:
        await memory.add(ANN, "Ann is new here")
        with pytest.raises(StoreStalledError, match="name another collection"):
            await memory.follower.settled(stall_seconds=1)
        assert "contains facts that this memory has not written" in str(memory.follower.trouble)
    async with open_follower(tmp_path / "old", store=store) as memory:
        await memory.follower.settled(stall_seconds=60)
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann plays the ocarina"]
