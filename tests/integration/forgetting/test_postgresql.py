"""Remains of forgotten facts on PostgreSQL: no row and no word in a file of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from gaia_memory import NewFact, open_memory
from support.databases import memory_url

OFFLINE = {"provider": "offline"}
WORD = "zvrkpltmnxw"

_FILES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'i') AND relname LIKE '%gaia%'
AND position(CAST(:word AS bytea) IN pg_read_binary_file(pg_relation_filepath(oid))) > 0
"""
_ROWS = "SELECT count(*) FROM gaia_facts WHERE text LIKE '%zvrkpltmnxw%'"


async def holding(engine: Any) -> set[str]:
    """Return the tables and indexes whose files contain the word."""
    async with engine.connect() as connection:
        await connection.execute(text("CHECKPOINT"))
        return set((await connection.execute(text(_FILES), {"word": WORD.encode()})).scalars())


@pytest.mark.acceptance("C11")
async def test_no_row_and_no_index_contains_a_forgotten_word(tmp_path: Path) -> None:
    """Free space is reused by the server."""
    async with memory_url("postgresql", tmp_path) as url:
        sessions = {"database_url": url.render_as_string(hide_password=False)}
        settings = {"memory": {"llm": OFFLINE, "embedder": OFFLINE}, "sessions": sessions}
        async with open_memory(settings, home=tmp_path / "home") as gaia:
            memory, ann, ben = gaia.memory, gaia.scope("ann"), gaia.scope("ben")
            await memory.add(ben, [NewFact(f"Ben took trip {number}") for number in range(100)])
            await memory.add(ann, [NewFact(f"Ann keeps the {WORD} at home")])
            await memory.settled()
            engine = memory.stores.database.engine
            before = await holding(engine)
            await memory.forget(ann)
            await memory.settled()
            after = await holding(engine)
            async with engine.connect() as connection:
                rows = (await connection.execute(text(_ROWS))).scalar_one()
            found = await memory.recall(ben, "trip 17")

    assert before == {"gaia_facts"}
    assert after <= before
    assert rows == 0
    assert found[0].fact.text == "Ben took trip 17"
