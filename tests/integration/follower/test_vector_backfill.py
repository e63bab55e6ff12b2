"""Facts that were committed without a vector get one later, and delay no other fact meanwhile."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gaia_memory.errors import StoreStalledError
from gaia_memory.models import Draft, NewFact, Scope
from support.storage.follower import open_follower

ANN, BEN = Scope("gaia", "ann"), Scope("gaia", "ben")


async def test_facts_without_a_vector_get_one_when_the_embedder_is_back(tmp_path: Path) -> None:
    """R04: they wait while it is unavailable, others are followed; then their vectors are added."""
    async with open_follower(tmp_path / "home", embedder_down=True) as memory:
        waiting = [f"Ann's note {n}" for n in range(60)]
        await memory.add(ANN, *waiting, vectors=False)
        await memory.add(BEN, *[f"Ben's note {n}" for n in range(12)])
        async with asyncio.timeout(60):
            while not (memory.follower.is_ready and len(await memory.mem0_facts(BEN)) == 12):
                await asyncio.sleep(0.05)
        with pytest.raises(StoreStalledError, match="the embedder is down"):
            await memory.follower.settled(stall_seconds=1)

        assert await memory.mem0_facts(ANN) == {}
        assert "60 facts have no vector yet" in (memory.follower.trouble or "")

        memory.embedder.is_down = False
        await memory.follower.settled(stall_seconds=60)

        assert sorted((await memory.mem0_facts(ANN)).values()) == sorted(waiting)
        assert memory.follower.trouble is None
        async with memory.database.read_transaction() as tx:
            ids, _ = await memory.facts.vectors(tx, ANN, memory.embedder.identity)
        assert len(ids) == 60


async def test_a_hanging_embedder_delays_no_other_fact(tmp_path: Path) -> None:
    """Embedding runs concurrently with following."""
    async with open_follower(tmp_path / "home") as memory:
        hang = asyncio.Event()

        async def hanging(*_: object, **__: object) -> list[tuple[float, ...]]:
            await hang.wait()
            return []

        memory.embedder.embed = hanging  # type: ignore[method-assign]
        await memory.add(ANN, "Ann's note", vectors=False)
        await memory.add(BEN, "Ben's note")
        async with asyncio.timeout(60):
            while not (memory.follower.is_ready and await memory.mem0_facts(BEN)):
                await asyncio.sleep(0.05)

        assert await memory.mem0_facts(ANN) == {}


async def test_a_forgotten_fact_is_no_longer_sent_to_the_embedder(tmp_path: Path) -> None:
    """Its text is read right before the request, so a forgotten one is not sent."""
    async with open_follower(tmp_path / "home", embedder_down=True) as memory:
        await memory.add(ANN, "Ann's secret", vectors=False)
        async with asyncio.timeout(60):
            while memory.embedder.calls == 0:
                await asyncio.sleep(0.05)
        await memory.forget(ANN)
        seen: list[str] = []

        async def noting(texts: list[str], **_: object) -> list[tuple[float, ...]]:
            seen.extend(texts)
            return []

        memory.embedder.embed = noting  # type: ignore[assignment,method-assign]
        await memory.follower.settled(stall_seconds=60)

        assert seen == []


async def test_a_fact_with_another_embedders_vector_stays_out_and_leaves_the_outbox(tmp_path: Path) -> None:
    """Vectors of two embedders are never mixed; the fact stays in the database, found by its words."""
    async with open_follower(tmp_path / "home") as memory:
        await memory.add(ANN, "Ann's own")
        vector = (1.0,) + (0.0,) * 383
        foreign = Draft(fact=NewFact("Ann's foreign"), source="add", vector=vector, embedder="other/model/384")
        async with memory.database.transaction() as tx:
            await memory.facts.writer.write(tx, ANN, [foreign], now=datetime.now(UTC))
        await memory.follower.settled(stall_seconds=60)

        assert list((await memory.mem0_facts(ANN)).values()) == ["Ann's own"]
        assert sorted((await memory.database_facts(ANN)).values()) == ["Ann's foreign", "Ann's own"]


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_plain_mem0_finds_each_of_many_nearly_identical_facts(tmp_path: Path, at_once: bool) -> None:
    """Chroma's default number of neighbours disconnects some of them in its graph in most stores it creates."""
    alike = [f"Ann's fact number {n} is about saffron" for n in range(150)]
    async with open_follower(tmp_path / "home") as memory:
        for texts in [alike] if at_once else [[text] for text in alike]:
            await memory.add(ANN, *texts)
            if not at_once:
                await memory.follower.settled(stall_seconds=60)
        await memory.follower.settled(stall_seconds=60)

        assert [text for text in alike if text not in await memory.search_mem0(ANN, text)] == []
