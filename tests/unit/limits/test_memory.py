"""What an open memory accepts although it should not, or keeps although it is outdated."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.backend.builder import Backend
from gaia_memory.recall.index.vector_filler import VectorFiller
from gaia_memory.transfer.export_format import parse_export
from support.storage.scripted_backend import backend_config

pytestmark = pytest.mark.heavy


async def test_an_added_fact_does_not_replace_the_one_it_contradicts(tmp_path: Path) -> None:
    """A host's facts are kept as given."""
    async with open_memory(home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [NewFact("Lives in Rome"), NewFact("Lives in Oslo")])

        assert [fact.text for fact in await gaia.memory.facts(scope)] == ["Lives in Rome", "Lives in Oslo"]


async def test_a_vector_is_made_from_the_first_8000_characters(tmp_path: Path) -> None:
    """The rest of a long fact is found by its words alone."""
    backend = Backend(backend_config(tmp_path))
    start = "Likes tea. " * 800
    one, other = await backend.embedder.embed([start, f"{start} Owns a boat."], purpose="add")
    await backend.close()

    assert one == other


async def test_damage_is_noticed_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write into a damaged file succeeds if it meets no damaged page."""
    async with open_memory(home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [NewFact(f"Fact {number} " + "lorem " * 40) for number in range(400)])
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'gaia_facts' AND pagetype = 'leaf'")
        page = pages.fetchall()[5][0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    # It reads every fact at the start.
    monkeypatch.setattr(VectorFiller, "start", lambda self: None)
    async with open_memory(home=tmp_path, model="offline") as gaia:
        assert await gaia.memory.add(scope, [NewFact("Likes tea")])
        assert (await gaia.memory.status(scope)).state == "degraded"


def test_an_import_takes_facts_alone() -> None:
    """The profile and pending conversations are left out."""
    data = {"format": "gaia-memory", "version": 1, "facts": [], "profile": {"bullets": ["Likes tea"]}, "pending": [{}]}

    assert parse_export(data) == []
