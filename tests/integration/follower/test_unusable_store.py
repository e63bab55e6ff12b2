"""A store that this memory may not use is refused at once, with key, value and fix, and nothing of it is changed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from qdrant_client import QdrantClient, models

from gaia_memory.errors import StoreStalledError
from gaia_memory.models import Scope
from support.cli.cli_runner import run_gaia
from support.storage.follower import open_follower
from support.storage.plain_mem0 import plain_mem0

pytestmark = pytest.mark.acceptance("B07")

OFFLINE = {"provider": "offline"}
PATIENCE_SECONDS = 30
"""Far below the minute that a store without progress is waited for."""


def refusals(home: Path, monkeypatch: pytest.MonkeyPatch, **store: Any) -> tuple[str, str]:
    """Return what `sync` and `doctor` say about a store, after checking that neither is content or slow."""
    home.mkdir(exist_ok=True)
    memory = {"llm": OFFLINE, "embedder": OFFLINE, **({"vector_store": store} if store else {})}
    (home / "gaia.yaml").write_text(yaml.safe_dump({"model": "offline", "memory": memory}))
    monkeypatch.setenv("GAIA_HOME", str(home))
    monkeypatch.setenv("GAIA_CONFIG", str(home / "gaia.yaml"))
    run_gaia("memory", "add", "--user", "ada", "Likes teal")
    started = time.monotonic()
    synced, checked = run_gaia("memory", "sync"), run_gaia("doctor", "--no-model")
    lines = [line for line in checked.out.splitlines() if " store " in line]

    assert time.monotonic() - started < PATIENCE_SECONDS
    assert (synced.code, checked.code) == (1, 1)
    assert next(line[:4] for line in lines) == "FAIL"
    return " ".join(synced.err.split()), " ".join(checked.out.split())


def make_collection(folder: Path, size: int, *texts: str) -> dict[str, Any]:
    """Make a Qdrant folder as another program would, and return its configuration."""
    client = QdrantClient(path=str(folder))
    client.create_collection("gaia", vectors_config=models.VectorParams(size=size, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(id=number, vector=[1.0] * size, payload={"data": text}) for number, text in enumerate(texts)
    ]
    if points:
        client.upsert("gaia", points)
    client.close()
    return {"provider": "qdrant", "path": str(folder)}


@pytest.mark.parametrize(
    ("size", "texts", "reason"),
    [
        (512, ["theirs"], "it contains facts that this memory has not written"),
        (3, [], "its vectors have 3 numbers, and those of"),
    ],
)
def test_a_collection_of_another_program_or_of_other_dimensions_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, texts: list[str], reason: str
) -> None:
    """In a Qdrant folder, which doctor looks into as well."""
    store = make_collection(tmp_path / "qdrant", size, *texts)
    for said in refusals(tmp_path / "home", monkeypatch, **store):
        assert f"memory.vector_store.collection_name is 'gaia': {reason}" in said
        assert "name another collection" in said
    client = QdrantClient(path=store["path"])
    found = client.get_collection("gaia").config.params.vectors
    rows = client.scroll("gaia")[0]
    client.close()

    assert getattr(found, "size", None) == size
    assert [row.payload for row in rows] == [{"data": text} for text in texts]


def test_a_length_of_vectors_that_the_embedder_does_not_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts would be refused one by one by the engine."""
    store = {"provider": "qdrant", "path": str(tmp_path / "qdrant"), "embedding_model_dims": 7}
    for said in refusals(tmp_path / "home", monkeypatch, **store):
        assert "memory.vector_store.embedding_model_dims is 7, but the vectors of offline/" in said
        assert "leave the key out" in said


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")
@pytest.mark.parametrize("provider", ["chroma", "qdrant"])
def test_a_folder_that_nobody_may_write_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """Not even root may write /sys."""
    memory = {"llm": OFFLINE, "embedder": OFFLINE, "vector_store": {"provider": provider, "path": "/sys/gaia-store"}}
    (tmp_path / "gaia.yaml").write_text(yaml.safe_dump({"model": "offline", "memory": memory}))
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    monkeypatch.setenv("GAIA_CONFIG", str(tmp_path / "gaia.yaml"))
    run_gaia("memory", "add", "--user", "ada", "Likes teal")
    started = time.monotonic()
    synced = run_gaia("memory", "sync")

    assert time.monotonic() - started < PATIENCE_SECONDS
    assert (synced.code, "memory.vector_store.path is '/sys/gaia-store" in synced.err) == (1, True)
    assert "give this user the right to write a folder there, or name another place" in " ".join(synced.err.split())


def test_a_file_in_place_of_the_store_is_named_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key, not as a bare errno."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "store").write_text("mine")
    for said in refusals(home, monkeypatch):
        assert f"memory.vector_store.path is '{home / 'store'}" in said

    assert (home / "store").read_text() == "mine"


def test_another_major_version_of_mem0_is_named(tmp_path: Path) -> None:
    """As `pip install mem0ai==1.0.5` leaves it; no store is made, and doctor says so, too."""
    metadata = tmp_path / "packages" / "mem0ai-1.0.5.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: mem0ai\nVersion: 1.0.5\n")
    home = tmp_path / "home"
    environment = {**os.environ, "GAIA_HOME": str(home), "PYTHONPATH": str(metadata.parent.parent)}

    def gaia(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gaia_memory.cli", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
        )

    added = gaia("memory", "add", "--user", "ada", "Likes teal")
    said = [" ".join((done.stdout + done.stderr).split()) for done in (gaia("memory", "sync"), gaia("doctor"))]

    assert added.returncode == 0
    for text in said:
        assert "mem0ai: 1.0.5 is installed, another major version; run `pip install 'mem0ai==2.*'`" in text
    assert list((home / "store").rglob("*.sqlite3")) == []


@pytest.mark.acceptance("B01")
async def test_the_address_that_plain_mem0_opened_first_is_taken_if_it_has_no_rows(tmp_path: Path) -> None:
    """What it made is moved aside; with a row in it, the address is refused and kept."""
    home = tmp_path / "home"
    async with open_follower(home, started=False) as memory:
        address, config = memory.follower.address, memory.backend.mem0_config(memory.follower.address)

        def open_plain(text: str | None) -> None:
            with plain_mem0(config) as plain:
                if text is not None:
                    plain.add(text, user_id="ada", infer=False)

        await asyncio.to_thread(open_plain, "Theirs")
        await memory.add(Scope("gaia", "ann"), "Ann lives in Haifa")
        memory.follower.start(after=0)
        with pytest.raises(StoreStalledError, match=r"is not a link of ours.*import --from-mem0"):
            await memory.follower.settled()
        address.rename(tmp_path / "theirs")
        await asyncio.to_thread(open_plain, None)
        await memory.follower.settled()

        assert address.is_symlink()
        assert list((await memory.mem0_facts(Scope("gaia", "ann"))).values()) == ["Ann lives in Haifa"]
