"""Many conversations wait during a model outage, and are learned after it without overloading the model."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.events.event import Event
from google.genai import types

from gaia_memory import model_calls, open_memory
from gaia_memory.learning.circuit_breaker import FAILURE_THRESHOLD
from gaia_memory.learning.sweep import MAX_PARALLEL_CONVERSATIONS
from gaia_memory.models import SessionKey, SweepReport
from gaia_memory.testing import FakeClock
from support.plugin_host import record_turn
from support.servers.fake_gemini import Answer, Failure, facts

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_gemini import FakeGemini

AWAY = Failure(503)
BEATS_AN_HOUR = 60
PROBES_AN_HOUR = 16
"""More than the pauses of an hour allow, which grow from a quarter of a minute to ten."""

_SAYS = re.compile(r"says (\w+) on (\w+)")


class Door:
    """Answers every request as configured, and records the callers and the maximum concurrency."""

    def __init__(self, answer: Answer = AWAY) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.inside: Counter[str] = Counter()
        self.most = 0
        self.most_of_one = 0
        self.hold: Callable[[str], None] = lambda person: time.sleep(0.002)
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer:
        [(person, channel)] = set(_SAYS.findall(str(body)))
        with self._lock:
            self.asked.append(f"{person}:{channel}")
            self.inside[person] += 1
            self.most = max(self.most, self.inside.total())
            self.most_of_one = max(self.most_of_one, self.inside[person])
        self.hold(person)
        with self._lock:
            self.inside[person] -= 1
        return self.answer


@dataclass
class Waiting:
    """One open memory in which users have pending conversations."""

    gaia: Gaia
    clock: FakeClock

    async def talk(self, sessions: Iterable[tuple[str, str]]) -> None:
        """Store a message for each, a second apart; then let all of them become idle.

        As the plugin leaves it behind: a turn through a Runner costs more than all that is looked at here.
        """
        service, app = self.gaia.session_service, self.gaia.config.app
        for person, channel in sessions:
            key = SessionKey(app, person, f"{person}:{channel}")
            session = await service.create_session(app_name=app, user_id=person, session_id=key.session)
            said = types.UserContent(f"I like tea, says {person} on {channel}")
            event = Event(invocation_id=Event.new_id(), author="user", content=said)
            await service.append_event(session, event)
            await record_turn(self.gaia._engine, key)
            self.clock.advance(timedelta(seconds=1))
        self.clock.advance(timedelta(hours=1))

    async def beats(self, count: int) -> list[SweepReport]:
        """Sweep once per minute."""
        reports = []
        for _ in range(count):
            self.clock.advance(timedelta(minutes=1))
            reports.append(await self.gaia.sweep())
        return reports

    async def facts(self, people: Iterable[str]) -> list[list[str]]:
        return [[fact.text for fact in await self.gaia.memory.facts(self.gaia.scope(person))] for person in people]

    async def attempts(self, people: Iterable[str]) -> int:
        statuses = [await self.gaia.memory.status(self.gaia.scope(person)) for person in people]
        return sum(waiting.attempts for status in statuses for waiting in status.pending)


@asynccontextmanager
async def opened(folder: Path, *, hours_ago: float = 0) -> AsyncIterator[Waiting]:
    """Open memory with Gemini for learning only, some hours ago."""
    settings: dict[str, Any] = {
        "home": str(folder),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "offline"}},
    }
    clock = FakeClock(datetime.now(UTC) - timedelta(hours=hours_ago))
    async with open_memory(settings, home=folder, clock=clock, model="offline") as gaia:
        # Who counts what sweeps do wants no other one beside them.
        await gaia._engine._sweep_scheduler.stop()
        yield Waiting(gaia, clock)


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def test_an_outage_of_an_hour_takes_few_requests_and_is_caught_up_in_order(
    gemini: FakeGemini, tmp_path: Path, count: int
) -> None:
    """During it, single conversations are tried occasionally; then all are, oldest first, a few at a time."""
    door = Door()
    gemini.set_default("extractor", door)
    people = [f"user{number:04}" for number in range(count)]
    async with opened(tmp_path / "home") as waiting:
        await waiting.talk((person, "cli") for person in people)
        during = await waiting.beats(BEATS_AN_HOUR)
        tried, attempts = list(door.asked), await waiting.attempts(people)
        untouched = await waiting.gaia.memory.status(waiting.gaia.scope(people[-1]))
        door.answer = facts("likes tea")
        after = await waiting.beats(11)
        asked = door.asked[len(tried) :]
        known = await waiting.facts(people)

    assert len(tried) <= (MAX_PARALLEL_CONVERSATIONS + PROBES_AN_HOUR) * model_calls.LEARNING.max_attempts
    assert attempts == len(tried) / model_calls.LEARNING.max_attempts
    assert sum(report.consolidated for report in during) == 0
    assert during[0].failed <= MAX_PARALLEL_CONVERSATIONS
    assert during[0].failed + during[0].skipped == count
    assert "failed (503)" in during[0].reason
    assert [(each.attempts, each.retry_at) for each in untouched.pending] == [(0, None)]
    assert (untouched.state, "failed (503)" in untouched.reason) == ("degraded", True)
    assert "; no answer since " in untouched.reason
    assert sum(report.consolidated for report in after) == count
    assert known == [["likes tea"]] * count
    assert Counter(asked) == Counter(f"{person}:cli" for person in people)
    assert max(after, key=lambda report: report.consolidated).consolidated >= count - attempts
    assert 1 < door.most <= MAX_PARALLEL_CONVERSATIONS
    fresh = [session for session in asked if session not in tried]
    assert all(abs(place - at) < MAX_PARALLEL_CONVERSATIONS for at, place in enumerate(map(sorted(fresh).index, fresh)))


@pytest.mark.slow
async def test_a_forced_sweep_stops_during_an_outage_and_continues_after_one_answer(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """Each one probes; the report gives the number of untried conversations, and the reason."""
    count = 12
    door = Door()
    gemini.set_default("extractor", door)
    people = [f"user{number:02}" for number in range(count)]
    async with opened(tmp_path / "home") as waiting:
        await waiting.talk((person, "cli") for person in people)
        first = await waiting.gaia.sweep(force=True)
        second = await waiting.gaia.sweep(force=True)
        tried = len(door.asked)
        door.answer = facts("likes tea")
        third = await waiting.gaia.sweep(force=True)
        known = await waiting.facts(people)

    assert FAILURE_THRESHOLD <= first.failed <= MAX_PARALLEL_CONVERSATIONS
    assert (first.consolidated, first.skipped) == (0, count - first.failed)
    assert (second.failed, second.skipped) == (1, count - 1)
    assert "failed (503)" in first.reason
    assert "failed (503)" in second.reason
    assert tried == (first.failed + 1) * model_calls.LEARNING.max_attempts
    assert third == SweepReport(consolidated=count)
    assert known == [["likes tea"]] * count
    assert door.most <= MAX_PARALLEL_CONVERSATIONS
