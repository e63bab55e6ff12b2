"""Any fact in the mem0 store looks as if mem0 had stored it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gaia_memory.models import Draft, NewFact, Scope, StoredFact
from support.storage.follower import open_follower

ANN = Scope("gaia", "ann b*n")
SAID = datetime(2024, 3, 1, 12, tzinfo=UTC)


async def test_mem0_reads_a_fact_with_its_owner_source_and_metadata(tmp_path: Path) -> None:
    """`get` returns mem0's own fields and flat metadata; no run or agent is set."""
    async with open_follower(tmp_path / "home") as memory:
        own = {"mood": "sunny", "stars": 4}
        [fact] = await memory.add(ANN, "Ann likes saffron", said_at=SAID, session_id="ann:cli", seq=3, metadata=own)
        await memory.follower.settled(stall_seconds=60)
        row: dict[str, Any] = await memory.mem0_row(fact.id)

        assert row["memory"] == "Ann likes saffron"
        assert row["user_id"] == ANN.mem0_user_id
        assert row["hash"] == hashlib.md5(b"Ann likes saffron").hexdigest()
        assert datetime.fromisoformat(row["created_at"]) == fact.created_at
        assert row["metadata"] == {
            "mood": "sunny",
            "stars": 4,
            "source": "add",
            "session_id": "ann:cli",
            "seq": 3,
            "said_at": "2024-03-01T12:00:00+00:00",
            "written_by": f"gaia-memory/{fact.id}",
        }
        assert not {"run_id", "agent_id", "expiration_date"} & row.keys()


async def test_mem0_reads_the_labels_of_a_fact_as_metadata(tmp_path: Path) -> None:
    """Those that are set; mem0 can then filter by the category."""
    async with open_follower(tmp_path / "home") as memory:
        details = {"category": "food", "entity": "Ann", "agent": "cook", "sensitive": True}
        [fact] = await memory.add(ANN, "Ann likes saffron", **details)
        await memory.follower.settled(stall_seconds=60)
        row: dict[str, Any] = await memory.mem0_row(fact.id)

    assert row["metadata"] == {**details, "source": "add", "written_by": f"gaia-memory/{fact.id}"}


async def test_a_fact_with_values_the_store_cannot_hold_is_kept(tmp_path: Path) -> None:
    """Chroma would drop the whole payload because of one number; such a value is stored as text."""
    async with open_follower(tmp_path / "home") as memory:
        odd = {
            "user_id": "somebody else",
            "run_id": "r",
            "expiration_date": "2020-01-01",
            "huge": 2**70,
            "nothing": float("nan"),
            "endless": float("inf"),
            "yes": True,
            "low": -(2**63),
        }
        [fact] = await memory.add(ANN, "Ann counts")
        await memory.follower.settled(stall_seconds=60)
        store = memory.follower._writer.store
        async with memory.database.read_transaction() as tx:
            stored = (await memory.outbox.load_facts(tx, [fact.id]))[fact.id]
        awkward = replace(stored, fact=replace(stored.fact, metadata=odd, text="Ann \ud800 counts"))
        refused = await asyncio.to_thread(store.write, [awkward], [])  # type: ignore[union-attr]
        row = await memory.mem0_row(fact.id)

        assert fact.id in await memory.mem0_facts(ANN)
        assert refused == []
        assert row["memory"] == "Ann ? counts"
        assert row["metadata"] == {
            "huge": str(2**70),
            "nothing": "nan",
            "endless": "inf",
            "yes": True,
            "low": -(2**63),
            "source": "add",
            "written_by": f"gaia-memory/{fact.id}",
        }


async def test_a_changed_fact_keeps_nothing_of_its_old_payload(tmp_path: Path) -> None:
    """Chroma merges payloads; removed fields must disappear from the store as well."""
    async with open_follower(tmp_path / "home") as memory:
        [fact] = await memory.add(ANN, "Ann counts", metadata={"old": "value"}, session_id="ann:cli")
        await memory.follower.settled(stall_seconds=60)
        store = memory.follower._writer.store
        async with memory.database.read_transaction() as tx:
            stored: StoredFact = (await memory.outbox.load_facts(tx, [fact.id]))[fact.id]
        changed = replace(stored, fact=replace(stored.fact, metadata={}, session_id=None))
        await asyncio.to_thread(store.write, [changed], [])  # type: ignore[union-attr]
        row = await memory.mem0_row(fact.id)

        assert row["metadata"] == {"source": "add", "written_by": f"gaia-memory/{fact.id}"}


async def test_a_fact_refused_by_the_store_is_reported_and_affects_no_other_fact(tmp_path: Path) -> None:
    """A vector of the wrong length is left out; the rest of the batch is written."""
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(ANN, "Ann likes saffron")
        await memory.follower.settled(stall_seconds=60)
        before = await memory.store_id()
        wrong = Draft(fact=NewFact("odd one"), source="add", vector=(1.0, 0.0), embedder=memory.embedder.identity)
        async with memory.database.transaction() as tx:
            await memory.facts.writer.write(tx, ANN, [wrong], now=SAID)
        await memory.add(ANN, "Ann likes tea", "Ann likes figs")
        await memory.follower.settled(stall_seconds=60)

        assert sorted((await memory.mem0_facts(ANN)).values()) == [
            "Ann likes figs",
            "Ann likes saffron",
            "Ann likes tea",
        ]
        assert "refused 1 facts" in (memory.follower.trouble or "")
        assert await memory.store_id() == before
