"""The profile's model in every scenario: the turn is answered in time, with a bounded fallback profile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from gaia_memory.profile import distil
from gaia_memory.testing import FakeClock
from support.servers.fake_gemini import (
    Answer,
    Blocked,
    Drop,
    Failure,
    Hang,
    Raw,
    finished_with,
    invalid_key,
    no_candidate,
    only_thoughts,
    proxy_page,
    truncated,
)

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

LIMIT = 5
FACTS = ("lives in Haifa", *(f"owns book number {number}" for number in range(20)), "is called Itay")
PLAIN = ("- is called Itay", *(f"- owns book number {number}" for number in (19, 18, 17, 16)))
GIVEN = "- Itay of Haifa, a reader"

BAD: dict[str, Answer] = {
    "429, back in a minute": Failure(429, 60),
    "503": Failure(503),
    "a wrong key": invalid_key(),
    "dropped in the body": Drop("body"),
    "broken JSON": Raw('{"candidates": [{'),
    "a proxy's page": proxy_page(),
    "a blocked prompt": Blocked(),
    "SAFETY after some words": finished_with("SAFETY", "- Itay"),
    "no candidate": no_candidate(),
    "only thoughts": only_thoughts("- a thought"),
    "cut": truncated("- Itay of Hai"),
    "no bullet lines": "I cannot do that.",
}


@dataclass
class House:
    """One open memory with Gemini, and its server."""

    gaia: Gaia
    agent: LlmAgent
    server: FakeGemini
    clock: FakeClock

    async def know(self, user: str) -> None:
        await self.gaia.memory.add(self.gaia.scope(user_id=user), [NewFact(fact) for fact in FACTS])

    async def profile_of(self, user: str, channel: str) -> list[str]:
        """Run a turn in a session, and return the profile in its request."""
        talk = self.gaia.conversation(self.agent, user_id=user, channel=channel)
        reply = await talk.send("Hello")
        assert reply.text == "ok"
        system = self.server.requests_of("agent")[-1].system
        block = system.partition("<USER_PROFILE>")[2].partition("</USER_PROFILE>")[0]
        return [line.strip() for line in block.split("\n- ")[1:]]


@asynccontextmanager
async def opened(server: FakeGemini, home: Path) -> AsyncIterator[House]:
    settings: dict[str, Any] = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "offline"}, "preload_limit": LIMIT},
    }
    clock = FakeClock()
    async with open_memory(settings, home=home, clock=clock) as gaia:
        yield House(gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help."), server, clock)


@pytest.fixture
async def house(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[House]:
    """Open memory as a host does that has configured only the key."""
    async with opened(gemini, tmp_path / "home") as made:
        yield made


def bullets(*lines: str) -> list[str]:
    """Return lines without their bullets."""
    return [line.removeprefix("- ") for line in lines]


@pytest.mark.slow
@pytest.mark.acceptance("P07", "P17")
async def test_after_every_bad_answer_the_fallback_is_used_and_the_next_session_retries(
    gemini: FakeGemini, house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """In an hour; it is bounded, the same in each turn of a session, and never shown as if the model had written it."""
    told: dict[str, Any] = {}
    for name, answer in BAD.items():
        user = name.replace(" ", "-")
        await house.know(user)
        gemini.recover("profile", answer)
        first = await house.profile_of(user, "one")
        gemini.recover("profile", GIVEN)
        same = await house.profile_of(user, "one")
        house.clock.advance(timedelta(hours=1))
        other = await house.profile_of(user, "two")
        told[name] = (first, same, other)

    plain = bullets(*PLAIN)
    assert told == {name: (plain, plain, bullets(GIVEN)) for name in BAD}
    assert "Haifa" not in caplog.text


@pytest.mark.slow
async def test_a_profile_that_takes_too_long_is_not_waited_for(
    gemini: FakeGemini, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reply arrives in time with the fallback; so does another user's, and the next session retries."""
    monkeypatch.setattr(distil, "MODEL_TIMEOUT_SECONDS", 0.3)
    gemini.set_default("profile", Hang())
    await asyncio.gather(*(house.know(user) for user in ("ann", "ben")))
    began = time.monotonic()
    both = await asyncio.gather(*(house.profile_of(user, "one") for user in ("ann", "ben")))
    took = time.monotonic() - began
    gemini.recover("profile", GIVEN)
    monkeypatch.setattr(distil, "MODEL_TIMEOUT_SECONDS", 30.0)
    later = await house.profile_of("ann", "two")
    gemini.release_hanging()

    assert both == [bullets(*PLAIN)] * 2
    assert took < 30
    assert later == bullets(GIVEN)
