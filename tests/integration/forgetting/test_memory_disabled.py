"""Forgetting while `memory.enabled` is false: a host need not enable memory for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.errors import MemoryDisabledError
from support.storage.plain_mem0 import mem0_facts

OFF: dict[str, Any] = {"model": "offline", "memory": {"enabled": False}}
ON: dict[str, Any] = {"model": "offline"}
WORD = "zebrawood"


def files_with(home: Path, word: str) -> list[Path]:
    """Return the files of a home that contain a word."""
    return [path for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


async def known(home: Path) -> None:
    """Store facts about two users, in the database and in the store."""
    async with open_memory(ON, home=home) as gaia:
        facts = [NewFact(f"likes {WORD}"), NewFact("likes tea", session_id="trip"), NewFact("likes cake")]
        await gaia.memory.add(gaia.scope("ann"), facts)
        await gaia.memory.remember(gaia.scope("ben"), "likes coffee")
        await gaia.memory.settled()


@pytest.mark.parametrize("how", ["everything", "fact", "conversation"])
async def test_with_memory_off_a_forget_is_completed(tmp_path: Path, how: str) -> None:
    """`settled` waits for the files; the other user is in the store once memory is on again."""
    await known(tmp_path)
    async with open_memory(OFF, home=tmp_path) as gaia:
        ann = gaia.scope("ann")
        held = {fact["text"]: fact["id"] for fact in (await gaia.memory.export(ann))["facts"]}
        given = {"fact": {"fact_id": held[f"likes {WORD}"]}, "conversation": {"session_id": "trip"}}.get(how, {})
        receipt = await gaia.memory.forget(ann, **given)
        await gaia.memory.settled()
        status = await gaia.memory.status(ann)
        with pytest.raises(MemoryDisabledError):
            await gaia.memory.facts(ann)

    gone = {"everything": [WORD, "likes tea"], "fact": [WORD], "conversation": ["likes tea"]}[how]
    assert (receipt.count, receipt.pending) == (3 if how == "everything" else 1, True)
    assert {receipt.removed[place] for place in ("vectors", "sources")} == {receipt.count}
    assert (status.state, status.erasures, status.lag) == ("disabled", 0, 0)
    assert [files_with(tmp_path, word) for word in gone] == [[] for _ in gone]
    async with open_memory(ON, home=tmp_path) as gaia:
        await gaia.memory.settled()
        assert list((await mem0_facts(gaia, "ben")).values()) == ["likes coffee"]


async def test_with_memory_off_the_next_start_finishes_a_forget(tmp_path: Path) -> None:
    """A process that ended earlier left the files; no call triggers or awaits it."""
    await known(tmp_path)
    engine = await Engine.open(load(ON, home=tmp_path))
    await engine.memory.forget(engine.scope("gaia", "ann"))
    await engine.close()
    left = files_with(tmp_path, WORD)
    async with open_memory(OFF, home=tmp_path) as gaia:
        async with asyncio.timeout(120):
            while (await gaia.memory.status(gaia.scope("ann"))).erasures:
                await asyncio.sleep(0.05)

    assert left != []
    assert files_with(tmp_path, WORD) == []


async def test_with_memory_off_nothing_is_opened_unless_an_erasure_is_pending(tmp_path: Path) -> None:
    """Disabled memory takes no resources, and `settled` returns."""
    async with open_memory(OFF, home=tmp_path) as gaia:
        await gaia.memory.settled()
        receipt = await gaia.memory.forget(gaia.scope("nobody"))
        await gaia.memory.settled()

    assert (receipt.count, receipt.pending) == (0, False)
    assert not (tmp_path / "store").exists()
