"""`gaia.mem0` refuses to write, and what it let through in earlier versions goes with the next forget."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.mem0_store import mem0_adapter
from gaia_memory.errors import GaiaMemoryError, MemoryReadOnlyError
from gaia_memory.memory import Memory

CONFIG = {"model": "offline", "memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}
WORD = "zebrawood"
CALLS: dict[str, tuple[Any, ...]] = {
    "add": ("Likes tea",),
    "update": ("id", "Likes tea"),
    "delete": ("id",),
    "delete_all": (),
    "reset": (),
}


def files_with(home: Path, word: str) -> list[str]:
    found = [path for path in home.rglob("*") if path.is_file()]
    return [path.name for path in found if word.encode() in path.read_bytes()]


async def write_as_before(mem0: Any, user_id: str, text: str) -> None:
    """Write with mem0's own method, as `gaia.mem0.add` did."""
    await asyncio.to_thread(type(mem0).add, mem0, text, user_id=user_id, infer=False)


async def test_every_writing_method_is_refused_with_the_one_to_use(tmp_path: Path) -> None:
    """The names in the message are methods of `gaia.memory`; reading works."""
    async with open_memory(CONFIG, home=tmp_path) as gaia:
        ann = gaia.scope("ann")
        fact = await gaia.memory.remember(ann, "Owns a boat")
        await gaia.memory.settled()
        for name, arguments in CALLS.items():
            with pytest.raises(MemoryReadOnlyError, match=rf"gaia\.mem0\.{name} is refused") as refused:
                await asyncio.to_thread(getattr(gaia.mem0, name), *arguments)
            named = re.findall(r"gaia\.memory\.(\w+)", str(refused.value))
            assert named, refused.value
            assert all(callable(getattr(Memory, method)) for method in named)
            assert isinstance(refused.value, GaiaMemoryError)
        with pytest.raises(MemoryReadOnlyError):
            await asyncio.to_thread(gaia.mem0.add, messages="Likes tea", user_id=ann.partition)
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": ann.partition})

    assert [row["id"] for row in found["results"]] == [fact.id]


async def test_a_forget_erases_what_was_written_through_mem0_before(tmp_path: Path) -> None:
    """From the store and from mem0's own `history.db`."""
    async with open_memory(CONFIG, home=tmp_path) as gaia:
        ann = gaia.scope("ann")
        await gaia.memory.remember(ann, "Owns a boat")
        await gaia.memory.settled()
        await write_as_before(gaia.mem0, ann.partition, f"Likes {WORD}")
        before = files_with(tmp_path, WORD)
        await gaia.memory.forget(ann)
        await gaia.memory.settled()
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": ann.partition})

        assert "history.db" in before
        assert found["results"] == []
        assert files_with(tmp_path, WORD) == []


@pytest.mark.slow
async def test_a_store_of_another_engine_is_made_again_without_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are deleted one by one, so a forget would not meet one that is no fact."""
    store = {"provider": "qdrant", "path": str(tmp_path / "qdrant"), "on_disk": True}
    config = {**CONFIG, "memory": {**CONFIG["memory"], "vector_store": store}}
    monkeypatch.setattr(mem0_adapter, "_REFUSED", None)
    async with open_memory(config, home=tmp_path / "home") as gaia:
        ann = gaia.scope("ann")
        fact = await gaia.memory.remember(ann, "Owns a boat")
        await gaia.memory.settled()
        await write_as_before(gaia.mem0, ann.partition, f"Likes {WORD}")
    monkeypatch.undo()
    async with open_memory(config, home=tmp_path / "home") as gaia:
        await gaia.memory.settled()
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": ann.partition})
        await gaia.memory.forget(ann)
        await gaia.memory.settled()

        assert [row["id"] for row in found["results"]] == [fact.id]
        assert files_with(tmp_path / "home", WORD) == []
