"""Many conversations wait while the model is away, and are learned when it is back, without a rush on it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.backend import gemini as gemini_parts
from gaia_memory.sessions.sweep import PARALLEL
from gaia_memory.testing import FakeClock
from support.fake_gemini import Answer, Failure, facts

if TYPE_CHECKING:
    from support.fake_gemini import FakeGemini


class Door:
    """Counts who is inside at once, and gives everybody the same answer."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        time.sleep(0.005)
        with self._lock:
            self._inside -= 1
        return self._answer


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
async def test_after_an_outage_every_conversation_is_learned_once_and_a_few_at_a_time(
    gemini: FakeGemini, tmp_path: Path, count: int
) -> None:
    """While it lasts each is asked for a bounded number of times, and the next tries are spread."""
    clock = FakeClock()
    home = tmp_path / "home"
    settings: dict[str, Any] = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "offline"}},
    }
    away, back = Door(Failure(503)), Door(facts("likes tea"))
    async with open_memory(settings, home=home, clock=clock, model="offline") as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        users = [f"user{number}" for number in range(count)]
        for user in users:
            await gaia.conversation(agent, user_id=user, channel="cli").send("I like tea")
        gemini.default("extractor", away)
        clock.advance(timedelta(minutes=31))
        first = await gaia.sweep()
        at_once = await gaia.sweep()
        asked = len(gemini.of("extractor"))
        pending = (await gaia.memory.status(gaia.scope(user_id=users[0]))).pending
        due = [waiting.retry_at for user in users for waiting in await _pending(gaia, user)]
        gemini.default("extractor", back)
        learned = []
        for _ in range(3):
            clock.advance(timedelta(seconds=45))
            learned.append((await gaia.sweep()).consolidated)
        known = [[fact.text for fact in await gaia.memory.facts(gaia.scope(user_id=user))] for user in users]

    assert (first.failed, at_once.failed, len(pending)) == (count, 0, 1)
    assert asked == count * gemini_parts.ATTEMPTS
    assert max(due) - min(due) > 10
    assert sum(learned) == count
    assert known == [["likes tea"]] * count
    assert len(gemini.of("extractor")) == asked + count
    assert max(away.most, back.most) <= PARALLEL


async def _pending(gaia: Any, user: str) -> Any:
    return (await gaia.memory.status(gaia.scope(user_id=user))).pending
