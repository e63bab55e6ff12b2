"""A damaged, missing or foreign store is found before it is used, and rebuilt without a call to a model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gaia_memory.backend.mem0_store.chroma import folders as store_folder
from gaia_memory.models import Scope
from support.storage.follower import FollowerHarness, open_follower

ANN = Scope("gaia", "ann")
FACTS = [f"Ann's fact number {n} is about saffron" for n in range(40)]


async def filled(home: Path) -> str:
    """Leave a home with a store that was closed in order; return the store's id."""
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


def overwritten(folder: Path) -> None:
    with (folder / "chroma.sqlite3").open("r+b") as file:
        file.write(b"\x00not a database\x00" * 3000)


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def emptied(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()


def of_foreign_make(folder: Path) -> None:
    """Put a store there that Chroma opens happily and that is not ours."""
    shutil.rmtree(folder)
    script = (
        "import sys, chromadb\n"
        "with chromadb.PersistentClient(sys.argv[1]) as client:\n"
        "    made = client.create_collection('gaia', embedding_function=None)\n"
        "    made.add(ids=['x'], embeddings=[[1.0, 0.0]], metadatas=[{'data': 'somebody else', 'user_id': 'u'}])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True)


@pytest.mark.parametrize("damage", [truncated, overwritten, removed, emptied, of_foreign_make])
async def test_a_damaged_store_is_rebuilt_from_the_database_without_a_model(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The start after the damage begins a new store, removes the old folder and asks no model."""
    home = tmp_path / "home"
    before = await filled(home)
    await asyncio.to_thread(damage, home / "store" / before)
    async with open_follower(home, embedder_down=True) as memory:
        after = await followed_without_a_model(memory)

        assert after != before
        assert {path.name for path in (home / "store").iterdir()} == {after}
        assert memory.follower.trouble is None


async def test_a_store_that_was_closed_in_order_is_opened_without_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of the clean close spares the child process, and nothing is written again."""
    home = tmp_path / "home"
    before = await filled(home)
    probed: list[Path] = []
    monkeypatch.setattr(store_folder.StoreFolders, "_probe", lambda _, folder: bool(probed.append(folder)))
    async with open_follower(home, embedder_down=True) as memory:
        after = await followed_without_a_model(memory)

        assert (after, probed) == (before, [])


async def test_a_sound_store_without_a_note_is_probed_and_kept(tmp_path: Path) -> None:
    """After a crash the folder is tried by a child process; found sound, it is not written again."""
    home = tmp_path / "home"
    before = await filled(home)
    (home / "store" / f"{before}.closed.json").unlink()
    async with open_follower(home, embedder_down=True) as memory:
        assert await followed_without_a_model(memory) == before


async def test_a_probe_that_crashes_leads_to_a_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that kills whoever opens it kills the child, not this process."""
    home = tmp_path / "home"
    before = await filled(home)
    (home / "store" / f"{before}.closed.json").unlink()
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "chromadb.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(sys, "path", [str(trap), *sys.path])
    async with open_follower(home, embedder_down=True) as memory:
        assert await followed_without_a_model(memory) != before


async def test_a_probe_that_hangs_is_ended_and_leads_to_a_new_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time-out counts as damage, and the child is gone afterwards."""
    home = tmp_path / "home"
    before = await filled(home)
    (home / "store" / f"{before}.closed.json").unlink()
    trap = tmp_path / "trap"
    trap.mkdir()
    pid = tmp_path / "pid"
    (trap / "chromadb.py").write_text(
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    monkeypatch.setattr(sys, "path", [str(trap), *sys.path])
    async with open_follower(home, started=False, embedder_down=True) as memory:
        memory.follower._writer.location._folders._probe_seconds = 1.5  # type: ignore[attr-defined]
        memory.follower.start()

        assert await followed_without_a_model(memory) != before
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


async def test_a_store_that_fails_while_it_is_written_is_begun_anew(tmp_path: Path) -> None:
    """An error of Chroma's in this process costs a rebuild, not the facts."""
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


async def test_a_store_that_can_never_be_opened_is_reported_and_tried_ever_later(tmp_path: Path) -> None:
    """The follower says what is wrong, does not spin, and recovers by itself."""
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


async def test_a_changed_embedder_begins_a_store_without_the_old_vectors(tmp_path: Path) -> None:
    """Vectors of two embedders never meet: the old facts stay out until they have new vectors."""
    home = tmp_path / "home"
    before = await filled(home)
    async with open_follower(home, started=False) as memory:
        old = memory.embedder._real._dimensions
        memory.embedder._real._dimensions = 7
        memory.follower.start()
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() != before
        assert await memory.mem0_facts(ANN) == {}
        memory.embedder._real._dimensions = old


async def test_the_note_names_the_files_and_nothing_else(tmp_path: Path) -> None:
    """What is kept about a closed store is sizes and times, readable by the owner only."""
    home = tmp_path / "home"
    before = await filled(home)
    note = home / "store" / f"{before}.closed.json"

    assert set(json.loads(note.read_text())) >= {"chroma.sqlite3"}
    assert note.stat().st_mode & 0o077 == 0
    assert (home / "store" / before).stat().st_mode & 0o077 == 0
    assert (home / "store.lock").stat().st_mode & 0o077 == 0
