"""Remains of forgotten facts on a Chroma server: none in a table, and none in its database after a vacuum."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from support.servers.chroma_server import chroma_server
from support.storage.plain_mem0 import mem0_facts
from support.storage.residual_data import SearchTerms, find_residual_data

OFFLINE = {"provider": "offline"}
WORDS = [f"qu{number}zvrkpltmnxw" for number in range(5)]


def places(found: list[str]) -> set[str]:
    """Return the files and tables that contain a search term."""
    return {line.rpartition(": ")[0] for line in found}


@pytest.mark.slow
@pytest.mark.acceptance("C11")
async def test_after_a_forget_tables_contain_nothing_and_after_a_vacuum_the_database_neither(tmp_path: Path) -> None:
    """Its log would keep deleted rows forever; recreating a collection leaves only free pages."""
    folder, home = tmp_path / "chroma", tmp_path / "home"
    with chroma_server(folder) as where:
        settings = {"memory": {"llm": OFFLINE, "embedder": OFFLINE, "vector_store": where}}
        async with open_memory(settings, home=home) as gaia:
            memory, ann, ben = gaia.memory, gaia.scope("ann"), gaia.scope("ben")
            stay = await memory.add(ben, [NewFact(f"Ben took trip {number}") for number in range(60)])
            texts = [f"Ann keeps the {word} at home" for word in WORDS]
            await memory.add(ann, [NewFact(text) for text in texts])
            await memory.settled()
            sought = SearchTerms(WORDS, await gaia._engine.backend.embedder.embed(texts, purpose="add"))
            before = places(await find_residual_data(folder, sought))
            await memory.forget(ann)
            await memory.settled()
            after = places(await find_residual_data(folder, sought))

            assert set(await mem0_facts(gaia, ben)) == {fact.id for fact in stay}
    chroma = Path(sys.executable).with_name("chroma")
    vacuum = [str(chroma), "vacuum", "--path", str(folder), "--force"]
    await asyncio.to_thread(subprocess.run, vacuum, check=True, capture_output=True)

    # Index files are left out: a server may write what its memory held into them, at random.
    vacuumed = places(await find_residual_data(folder, sought))

    assert "chroma.sqlite3 embeddings_queue" in before
    assert {place for place in after if not place.endswith(".bin")} <= {"chroma.sqlite3"}
    assert not {place for place in vacuumed if not place.endswith(".bin")}
    assert await find_residual_data(home, sought) == []
