"""Many facts that ended or expire: what is current is found as fast as without them, and the past soon enough."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.scale import fact_texts
from gaia_memory import NewFact, Scope, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.models import FactEnd
from gaia_memory.testing import FakeClock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
STORED, ENDED, TRIES = 60_000, 10_000, 7
MOST_TIMES_AS_LONG = 2.0
"""How much longer a search may take with an expired half than without validity: the same columns, once selected."""

MAX_PAST_TIMES_AS_LONG = 25.0
"""How much longer a question about another time may take than a first one about the present, which reads as many."""


async def fastest(call: Callable[[], Awaitable[object]]) -> float:
    """Return the shortest time of several calls, in seconds."""
    times = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        await call()
        times.append(time.perf_counter() - begun)
    return min(times)


async def fill(gaia: Gaia, user: str, count: int, *, expiring_share: int = 0) -> Scope:
    """Add facts, of which each `expiring_share`-th expires in a day; return their scope."""
    scope = gaia.scope(user)
    texts = fact_texts(count, 1)
    new_facts = [
        NewFact(
            text,
            said_at=NOW,
            valid_until=NOW + timedelta(days=1) if expiring_share and number % expiring_share == 0 else None,
        )
        for number, text in enumerate(texts)
    ]
    for start in range(0, count, 10_000):
        await gaia.memory.add(scope, new_facts[start : start + 10_000])
    return scope


@pytest.mark.acceptance("T15")
async def test_expired_facts_of_a_large_scope_are_hidden_at_once_and_cost_no_time(tmp_path: Path) -> None:
    """Half of 60,000 facts expires between two questions, without a write."""
    clock = FakeClock(NOW)
    settings = {"home": str(tmp_path), "memory": {"recall": {"seconds": 60}}}
    async with open_memory(settings, clock=clock) as gaia:
        plain = await fill(gaia, "plain", STORED // 2)
        scope = await fill(gaia, "ada", STORED, expiring_share=2)
        question = "Who went to Porto with Maria?"
        await gaia.memory.recall(scope, question, limit=50)
        await gaia.memory.recall(plain, question, limit=50)
        clock.advance(timedelta(days=1))
        hits = await gaia.memory.recall(scope, question, limit=50)
        assert len(hits) == 50
        assert all(hit.fact.valid_until is None for hit in hits)
        assert await gaia.memory.count(scope) == STORED // 2
        page = await gaia.memory.browse(scope, limit=100)
        assert (page.total, len(page.facts)) == (STORED // 2, 100)

        without = await fastest(lambda: gaia.memory.recall(plain, question))
        with_expired = await fastest(lambda: gaia.memory.recall(scope, question))
        assert with_expired <= MOST_TIMES_AS_LONG * without


async def test_ten_thousand_past_facts_are_searched_in_the_time_of_reading_them(tmp_path: Path) -> None:
    """A question as of a day reads all; the figure is printed."""
    clock = FakeClock(NOW)
    async with open_memory({"home": str(tmp_path), "memory": {"recall": {"seconds": 60}}}, clock=clock) as gaia:
        memory, scope = gaia.memory, await fill(gaia, "ada", ENDED)
        ids = [fact.id for fact in await memory.facts(scope)]
        ends = [FactEnd(fact_id=each, ended_at=NOW + timedelta(days=1), why="retracted", actor="host") for each in ids]
        async with memory.stores.database.transaction() as tx:
            assert await memory.stores.facts.history.end_facts(tx, scope, ends, now=NOW + timedelta(days=1)) == []
        clock.advance(timedelta(days=2))
        question = "Who went to Porto with Maria?"
        assert await memory.recall(scope, question) == []
        assert len(await memory.recall(scope, question, as_of=NOW, limit=50)) == 50

        current = await fill(gaia, "eve", ENDED)
        reading = await fastest(lambda: memory.facts(current))
        searching = await fastest(lambda: memory.recall(scope, question, as_of=NOW))
        print(f"10,000 past facts: {searching:.2f} s; listing as many current ones: {reading:.2f} s")  # noqa: T201
        assert searching <= MAX_PAST_TIMES_AS_LONG * reading
