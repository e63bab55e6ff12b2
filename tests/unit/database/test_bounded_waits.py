"""The waits of one turn for the memory database are bounded together."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.database import bounded_waits
from gaia_memory.database.bounded_waits import DatabaseWaits, Refusals, counted_wait, run_detached, unlimited_waits
from gaia_memory.errors import MemoryUnavailable

LATE = "the memory database did not answer within 0.3 s"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten what a turn may wait."""
    monkeypatch.setattr(bounded_waits, "MEMORY_WAIT_SECONDS", 0.3)


async def ask(seconds: float, refusals: Refusals | None = None) -> str:
    """Wait for the database for some seconds."""
    with counted_wait(refusals):
        await asyncio.sleep(seconds)
    return "answered"


async def test_all_waits_of_a_turn_count_together() -> None:
    """The third one ends before its time, and the fourth does not begin."""
    waits = DatabaseWaits()
    assert await waits.run(ask(0.15)) == "answered"
    assert waits.remaining_seconds < 0.3
    with pytest.raises(MemoryUnavailable, match=LATE):
        await waits.run(ask(9))
    with pytest.raises(MemoryUnavailable, match=LATE):
        await waits.run(ask(0))


async def test_what_is_no_wait_for_the_database_does_not_count() -> None:
    """Such as a question to a model, or a prompt answer."""

    async def ask_model() -> str:
        await asyncio.sleep(0.4)
        return await ask(0.01)

    waits = DatabaseWaits()
    assert await waits.run(ask_model()) == "answered"
    assert waits.remaining_seconds == 0.3


async def test_learning_waits_longer() -> None:
    """A reset learns in the middle of a command."""

    async def learn() -> str:
        with unlimited_waits():
            return await ask(0.5)

    assert await DatabaseWaits().run(learn()) == "answered"


async def test_outside_of_a_turn_nothing_is_bounded() -> None:
    """The database's own time-outs hold there."""
    assert await ask(0.4) == "answered"


async def test_what_cannot_be_interrupted_is_left_behind() -> None:
    """The caller goes on at once; the work ends later."""
    ended = asyncio.Event()

    async def stubborn() -> None:
        with counted_wait():
            try:
                await asyncio.sleep(9)
            finally:
                await asyncio.sleep(0.3)
                ended.set()

    with pytest.raises(MemoryUnavailable, match=LATE):
        await DatabaseWaits().run(stubborn())
    assert not ended.is_set()
    caller = asyncio.create_task(run_detached(stubborn()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait({caller})
    assert caller.cancelled()
    assert not ended.is_set()
    await asyncio.wait_for(ended.wait(), 9)


async def test_the_end_of_a_turn_goes_on_in_the_background() -> None:
    """It is not cancelled, only not waited for."""
    ended = asyncio.Event()

    async def end() -> None:
        await ask(0.6)
        ended.set()

    await DatabaseWaits().finish(end())
    assert not ended.is_set()
    await asyncio.wait_for(ended.wait(), 9)


async def test_after_a_refusal_later_turns_do_not_wait_until_the_database_answers() -> None:
    """One question in the background finds that out."""
    answers, asked = asyncio.Event(), []

    async def probe() -> None:
        asked.append("probe")
        await answers.wait()

    refusals = Refusals(probe)
    with pytest.raises(MemoryUnavailable, match=LATE):
        await DatabaseWaits().run(ask(9, refusals))
    assert refusals.is_refusing
    for _ in range(3):
        with pytest.raises(MemoryUnavailable, match=LATE):
            await DatabaseWaits().run(ask(0, refusals))
    answers.set()
    async with asyncio.timeout(9):
        while refusals.is_refusing:
            await asyncio.sleep(0.01)
    assert asked == ["probe"]
    assert await DatabaseWaits().run(ask(0, refusals)) == "answered"
