"""A store that another database, or somebody else, has filled: it may be the last copy, so nobody empties it."""

from __future__ import annotations

import asyncio
import logging
import os
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


def aside(home: Path) -> list[Path]:
    """Return the folders that were set aside."""
    folder = home / "store-set-aside"
    return sorted(folder.iterdir()) if folder.is_dir() else []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run a Chroma server on loopback and return the configuration that means it."""
    with chroma_server(tmp_path_factory.mktemp("server")) as settings:
        yield settings


def texts_on(server: dict[str, Any], name: str) -> list[str]:
    """Return what a collection on a server holds."""
    client = chromadb.HttpClient(host=server["host"], port=server["port"])
    return sorted(str(row["data"]) for row in client.get_collection(name).get()["metadatas"] or [])


async def texts_in(folder: Path) -> list[str]:
    """Return what a store holds that nobody has open."""

    def read() -> list[str]:
        client = chromadb.PersistentClient(path=str(folder))
        try:
            [collection] = client.list_collections()
            return sorted(str(row["data"]) for row in collection.get()["metadatas"] or [])
        finally:
            client.close()

    return await asyncio.to_thread(read)


async def kept(memory: FollowerHarness, *texts: str) -> None:
    """Keep facts and let the store follow."""
    await memory.add(ANN, *texts)
    await memory.follower.settled(stall_seconds=60)


async def test_a_store_whose_database_is_gone_is_set_aside_until_that_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The new memory is empty, also for plain mem0; put back, the old one has everything and the copy goes."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await kept(memory, "Ann plays the ocarina", "Ann lives in Haifa")
        old = await memory.store_id()
    files = lose_database(home)
    with caplog.at_level(logging.WARNING):
        async with open_follower(home) as memory:
            await kept(memory, "Ann is new here")
            assert list((await memory.mem0_facts(ANN)).values()) == ["Ann is new here"]
            assert await memory.follower.quarantined_stores() == [str(home / "store-set-aside" / old)]

    [folder] = aside(home)
    assert folder.stat().st_mode & 0o077 == 0
    assert await texts_in(folder) == ["Ann lives in Haifa", "Ann plays the ocarina"]
    assert any(str(folder) in record.getMessage() for record in caplog.records)

    other = lose_database(home)
    for name, content in files.items():
        (home / name).write_bytes(content)
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)
        assert await memory.mem0_facts(ANN) == await memory.database_facts(ANN)
        assert len(await memory.mem0_facts(ANN)) == 2

    assert [await texts_in(folder) for folder in aside(home)] == [["Ann is new here"]]
    assert other


async def test_of_each_database_one_store_is_kept_aside_and_an_empty_one_is_not(tmp_path: Path) -> None:
    """Going to and fro between two databases does not pile up copies."""
    home = tmp_path / "home"
    databases: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        async with open_follower(home) as memory:
            await kept(memory, name)
        databases.append(lose_database(home))
    for files in databases * 2:
        for name, content in files.items():
            (home / name).write_bytes(content)
        async with open_follower(home) as memory:
            await memory.follower.settled(stall_seconds=60)
        files.update(lose_database(home))
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)
    lose_database(home)
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

    assert sorted([await texts_in(folder) for folder in aside(home)]) == [["one"], ["two"]]


async def test_a_store_that_cannot_be_read_is_set_aside_too(tmp_path: Path) -> None:
    """Whether it holds anything is not known."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await kept(memory, "Ann plays the ocarina")
        file = memory.folder(await memory.store_id()) / "chroma.sqlite3"
    lose_database(home)
    file.write_bytes(os.urandom(10_000))
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

    assert [folder.name for folder in aside(home)] == [file.parent.name]


async def test_status_doctor_and_receipts_tell_of_what_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No forget reaches it, and once it is removed nobody speaks of it any more."""
    home = tmp_path / "home"
    monkeypatch.setenv("GAIA_HOME", str(home))
    async with open_follower(home) as memory:
        await kept(memory, "Ann plays the ocarina")
    lose_database(home)
    config = {"home": str(home), "model": "offline", "sessions": {"coalesce_seconds": 0}}
    async with open_memory(config) as opened:
        scope = opened.scope("ann")
        await opened.memory.remember(scope, "Ann lives in Haifa")
        tea = await opened.memory.remember(scope, "Ann likes tea")
        await opened.memory.settled()
        [folder] = aside(home)
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
    assert f"quarantined in {folder}" in " ".join(told.out.split())

    shutil.rmtree(folder)
    async with open_memory(config) as opened:
        await opened.memory.settled()
        assert (await opened.memory.status(scope)).state == "ok"
        assert (await opened.memory.forget(scope)).notes == ()


async def test_a_collection_on_a_server_is_set_aside_and_goes_when_its_database_is_back(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """As in a folder; an own one from an earlier data folder is emptied as ever."""
    old, new, store = tmp_path / "old", tmp_path / "new", {**server, "collection_name": "first"}
    async with open_follower(old, store=store) as memory:
        await kept(memory, "Ann plays the ocarina")
        store_id = await memory.store_id()
    async with open_follower(new, store=store) as memory:
        await kept(memory, "Ann is new here")
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann is new here"]
        assert await memory.follower.quarantined_stores() == [f"collection 'first-set-aside-{store_id}'"]

    assert await asyncio.to_thread(texts_on, server, f"first-set-aside-{store_id}") == ["Ann plays the ocarina"]

    async with open_follower(old, store=store) as memory:
        await memory.follower.settled(stall_seconds=60)
        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann plays the ocarina"]
        [left] = await memory.follower.quarantined_stores()

    assert store_id not in left


async def test_a_collection_that_a_plain_mem0_filled_is_set_aside(tmp_path: Path, server: dict[str, Any]) -> None:
    """Whoever has used mem0 so far loses nothing by the first start."""
    store = {**server, "collection_name": "second"}
    client = await asyncio.to_thread(chromadb.HttpClient, host=server["host"], port=server["port"])
    client.create_collection("second").add(
        ids=["1"], embeddings=[[1.0, 0.0]], metadatas=[{"data": "years of memories", "user_id": "ann"}]
    )
    async with open_follower(tmp_path / "home", store=store) as memory:
        await kept(memory, "Ann plays the ocarina")
        [told] = await memory.follower.quarantined_stores()

    name = told.split("'")[1]
    assert name.startswith("second-set-aside-")
    assert await asyncio.to_thread(texts_on, server, name) == ["years of memories"]


async def test_another_engine_that_something_else_filled_is_refused_and_left_alone(tmp_path: Path) -> None:
    """mem0 knows no way to rename there; facts are found all the same."""
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
