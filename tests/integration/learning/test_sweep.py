"""A sweep continues despite slow conversations, shares its slots with others in the process, and ends at once."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory.learning import sweep as sweeping
from gaia_memory.learning.sweep import MAX_PARALLEL_CONVERSATIONS
from support.harness import Sut, facts
from support.host_matrix import wait_until

Make = Callable[..., Awaitable[Sut]]


class Extractor:
    """Answers every request with one fact; requests about users on hold wait until they are released.

    The first questions, so many `together`, wait for each other.
    """

    def __init__(self, *held: str, together: int = 1) -> None:
        self.asked: list[str] = []
        self.inside: Counter[str] = Counter()
        self.most = 0
        self.most_of_one = 0
        self._together = threading.Barrier(together)
        self._held = {person: threading.Event() for person in held}
        self._lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        person = prompt.split("I am ")[-1].split("!")[0]
        with self._lock:
            self.asked.append(person)
            self.inside[person] += 1
            self.most = max(self.most, self.inside.total())
            self.most_of_one = max(self.most_of_one, self.inside[person])
            is_first = len(self.asked) <= self._together.parties
        if is_first:
            self._together.wait(30)
        if person in self._held:
            self._held[person].wait(30)
        with self._lock:
            self.inside[person] -= 1
        return facts(f"is {person}")

    def let_go(self) -> None:
        for held in self._held.values():
            held.set()


async def opened(make: Make, extractor: Extractor, *said: tuple[str, str]) -> Sut:
    """Open a system in which users have sent messages, one second apart."""
    sut = await make(extractor=[extractor] * 100)
    for person, channel in said:
        await say(sut, person, channel)
    return sut


async def say(sut: Sut, person: str, channel: str = "cli") -> None:
    await sut.chat(person, channel, f"I am {person}!")
    sut.clock.advance(timedelta(seconds=1))


def lease(sut: Sut) -> list[Any]:
    """Return the owners of conversations in the database file."""
    with closing(sqlite3.connect(sut.home / "memory.db")) as database:
        query = "SELECT lease_owner FROM gaia_conversations WHERE lease_owner IS NOT NULL"
        return [owner for (owner,) in database.execute(query)]


async def test_conversations_that_become_due_during_a_slow_one_are_learned_meanwhile(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation of many chunks may take an hour; others do not wait for its end."""
    monkeypatch.setattr(sweeping, "POLL_SECONDS", 0.02)
    extractor = Extractor("slow")
    sut = await make("sessions: {idle_consolidate_minutes: 0.1}", extractor=[extractor] * 2)
    await say(sut, "slow")
    sweep = asyncio.create_task(sut.sweep_after_idle())
    try:
        await wait_until(lambda: extractor.asked == ["slow"])
        await say(sut, "late")
        sut.clock.advance(timedelta(seconds=6))
        await wait_until(lambda: extractor.asked == ["slow", "late"])
    finally:
        extractor.let_go()
    report = await sweep

    assert (report.consolidated, report.failed, report.skipped) == (2, 0, 0)


@pytest.mark.slow
async def test_concurrent_sweeps_of_a_process_share_their_limits(make: Make) -> None:
    """With the host's sweep and the scheduled one, requests stay bounded, and one per user."""
    extractor = Extractor(together=MAX_PARALLEL_CONVERSATIONS)
    people = [f"p{number}" for number in range(2 * MAX_PARALLEL_CONVERSATIONS)]
    sut = await opened(make, extractor, *((person, channel) for channel in ("a", "b") for person in people))
    reports = await asyncio.gather(*(sut.sweep(force=True) for _ in range(3)))

    assert sum(report.consolidated for report in reports) == 2 * len(people)
    assert Counter(extractor.asked) == Counter(people * 2)
    assert extractor.most == MAX_PARALLEL_CONVERSATIONS
    assert extractor.most_of_one == 1


async def test_a_forced_sweep_waits_for_a_user_who_is_being_learned(make: Make) -> None:
    """It then learns the user's other conversations too."""
    extractor = Extractor("busy")
    sut = await opened(make, extractor, ("busy", "old"))
    beat = asyncio.create_task(sut.sweep_after_idle())
    await wait_until(lambda: extractor.asked == ["busy"])
    await say(sut, "busy", "new")
    forced = asyncio.create_task(sut.sweep(force=True))
    try:
        await asyncio.sleep(0.1)

        assert not forced.done()
    finally:
        extractor.let_go()
    report, _ = await forced, await beat

    assert report.consolidated == 1
    assert extractor.asked == ["busy", "busy"]


async def test_without_the_background_sweep_only_an_explicit_one_learns(make: Make) -> None:
    """The file is read at each interval: switched on, the next one learns."""
    extractor = Extractor()
    sut = await make("sessions: {background_sweep: false}", extractor=[extractor] * 2)
    engine = sut.gaia._engine
    await say(sut, "a")
    sut.clock.advance(timedelta(minutes=31))
    await engine.sweep(is_scheduled=True)
    before = list(extractor.asked)
    report = await sut.sweep()
    await say(sut, "b")
    sut.clock.advance(timedelta(minutes=31))
    await asyncio.to_thread(sut.write_config, "sessions: {background_sweep: true}")
    await engine.sweep(is_scheduled=True)

    assert before == []
    assert (report.consolidated, report.failed) == (1, 0)
    assert extractor.asked == ["a", "b"]


@pytest.mark.acceptance("I19")
@pytest.mark.parametrize("by", ["the beat", "a host"])
async def test_closing_during_a_request_releases_the_lease_in_time(make: Make, by: str) -> None:
    """The model may answer at any time; the next process to open memory learns the conversation once."""
    extractor = Extractor("a")
    sut = await opened(make, extractor, ("a", "cli"))
    sut.clock.advance(timedelta(minutes=31))
    if by == "the beat":
        sweep = None
        sut.gaia._engine._sweep_scheduler._run_or_queue()
    else:
        sweep = asyncio.create_task(sut.sweep())
    await wait_until(lambda: extractor.asked == ["a"])

    assert len(await asyncio.to_thread(lease, sut)) == 1

    async with asyncio.timeout(60):
        await sut.close()
    left = await asyncio.to_thread(lease, sut)
    if sweep is not None:
        async with asyncio.timeout(60):
            assert (await sweep).skipped == 1
    extractor.let_go()
    await sut.open()
    async with asyncio.timeout(60):
        while await sut.session("a", "cli") is not None:
            await asyncio.sleep(0.02)

    assert left == []
    assert extractor.asked == ["a", "a"]
    assert await sut.texts("a") == ["is a"]
