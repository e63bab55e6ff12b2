"""Forgotten text leaves every file of the store, and other users' facts stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gaia_memory.backend.mem0_store import follower
from gaia_memory.models import Scope
from support.storage.follower import open_follower

ANN, BEN = Scope("gaia", "ann"), Scope("gaia", "ben")


def files_with(home: Path, word: str) -> list[str]:
    """Return the files under `home` that contain a word."""
    needle = word.encode()
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and needle in path.read_bytes()]


async def test_a_forgotten_word_is_in_no_file_of_the_store_and_other_users_keep_their_facts(tmp_path: Path) -> None:
    """C11: the old folder is gone, the new one contains the remaining facts, as listed by plain mem0."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await memory.add(ANN, *[f"the PIN word is ZEBRAFISH{n}" for n in range(30)])
        await memory.add(BEN, "Ben plays the OCARINA", "Ben lives in Haifa")
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()
        assert files_with(home, "ZEBRAFISH")
        count = await memory.forget(ANN)
        await memory.follower.settled(stall_seconds=60)

        assert count == 30
        assert not (home / "store" / before).exists()
        assert await memory.mem0_facts(ANN) == {}
        assert sorted((await memory.mem0_facts(BEN)).values()) == ["Ben lives in Haifa", "Ben plays the OCARINA"]
        assert memory.scrub_results[-1] is True
    found = await asyncio.to_thread(files_with, home, "ZEBRAFISH")

    assert found == []
    assert await asyncio.to_thread(files_with, home, "OCARINA")


async def test_an_unfinished_erasure_is_finished_at_the_next_start(tmp_path: Path) -> None:
    """A process that ends between the forget and the rewrite leaves the work to the next one."""
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await memory.add(ANN, "the PIN word is ZEBRAFISH")
        await memory.add(BEN, "Ben plays the OCARINA")
        await memory.follower.settled(stall_seconds=60)
    async with open_follower(home, started=False) as memory:
        await memory.forget(ANN)
    assert await asyncio.to_thread(files_with, home, "ZEBRAFISH")
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert list((await memory.mem0_facts(BEN)).values()) == ["Ben plays the OCARINA"]
        async with memory.database.read_transaction() as tx:
            assert await memory.outbox.pending_erasures(tx) == []
    assert await asyncio.to_thread(files_with, home, "ZEBRAFISH") == []


@pytest.mark.slow
async def test_a_pass_that_was_stopped_in_the_middle_goes_on_with_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was forgotten before it was created is not in it, so a long pass ends even if each process is short."""
    # A stop that gives up on a slow machine leaves a folder that was not closed cleanly.
    monkeypatch.setattr(follower, "STOP_SECONDS", 30.0)
    home = tmp_path / "home"
    async with open_follower(home) as memory:
        await memory.add(ANN, "the PIN word is ZEBRAFISH")
        await memory.add(BEN, *[f"Ben took trip {number}" for number in range(300)])
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()
        await memory.forget(ANN)
        async with asyncio.timeout(60):
            while not memory.follower._writer.is_rebuilding:
                await asyncio.sleep(0.01)
    async with open_follower(home) as memory:
        half_written = await memory.store_id()
        async with memory.database.read_transaction() as tx:
            assert len(await memory.outbox.pending_erasures(tx)) == 1
        await memory.follower.settled(stall_seconds=60)

        assert await memory.store_id() == half_written != before
        assert len(await memory.mem0_facts(BEN)) == 300
    assert await asyncio.to_thread(files_with, home, "ZEBRAFISH") == []


async def test_settled_waits_until_the_database_files_are_scrubbed_too(tmp_path: Path) -> None:
    """While a reader keeps old pages in use, the erasure is pending, but facts are still followed."""
    async with open_follower(tmp_path / "home") as memory:
        answers = [False, False, True]
        calls = 0

        async def reluctant() -> bool:
            nonlocal calls
            calls += 1
            return answers.pop(0)

        memory.follower._erasures._scrub = reluctant
        await memory.add(ANN, "the PIN word is ZEBRAFISH")
        await memory.forget(ANN)
        await memory.add(BEN, "Ben plays the OCARINA")
        await memory.follower.settled(stall_seconds=60)

        assert calls == 3
        assert answers == []
        assert list((await memory.mem0_facts(BEN)).values()) == ["Ben plays the OCARINA"]


async def test_a_failing_scrub_delays_no_fact(tmp_path: Path) -> None:
    """Files that cannot be rewritten are reported; following continues and the erasure stays pending."""
    async with open_follower(tmp_path / "home") as memory:

        async def failing() -> bool:
            raise OSError("disk is full")

        memory.follower._erasures._scrub = failing
        await memory.forget(ANN)
        await memory.add(BEN, "Ben plays the OCARINA")
        async with asyncio.timeout(60):
            while not (memory.follower.is_ready and await memory.mem0_facts(BEN)):
                await asyncio.sleep(0.05)

        assert "cannot be removed" in (memory.follower.trouble or "")
        async with memory.database.read_transaction() as tx:
            assert len(await memory.outbox.pending_erasures(tx)) == 1


@pytest.mark.slow
async def test_index_files_contain_no_leftover_process_memory(tmp_path: Path) -> None:
    """Chroma writes an empty index from uninitialized memory; here it is zeros."""
    home = tmp_path / "home"

    def used() -> dict[str, bytes]:
        folder = next(path for path in (home / "store").iterdir() if path.is_dir())
        return {path.name: path.read_bytes() for path in folder.glob("*/*.bin") if path.name != "header.bin"}

    litter = [("LEFTOVER" * 200_000 + str(n)).encode() for n in range(20)]
    async with open_follower(home) as memory:
        await memory.add(ANN, "Ann plays the OCARINA")
        del litter
        await memory.follower.settled(stall_seconds=60)

        assert any(map(len, used().values()))
        assert not any(any(content) for content in used().values())
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)

        assert not any(any(content) for content in used().values())
        # Plain mem0 leaves some of its own.
        await memory.search_mem0(ANN, "ocarina")
    assert not any(any(content) for content in used().values())
