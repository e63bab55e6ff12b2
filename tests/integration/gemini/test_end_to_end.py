"""The main use case through the real google-genai client of ADK and mem0, with a fake Gemini on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.testing import FakeClock
from support.servers.fake_gemini import call, facts, with_thoughts
from support.storage.plain_mem0 import find_facts

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@asynccontextmanager
async def opened(home: Path, clock: FakeClock) -> AsyncIterator[tuple[Gaia, LlmAgent]]:
    """Open memory as a host does that has configured only the key."""
    settings = {"home": str(home), "sessions": {"coalesce_seconds": 0}}
    async with open_memory(settings, home=home, clock=clock) as gaia:
        yield gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help.")


async def went_quiet(gaia: Gaia, clock: FakeClock) -> tuple[int, int]:
    """Let the idle period pass and sweep; return how many conversations were learned and how many failed."""
    clock.advance(timedelta(minutes=gaia.config.sessions.idle_consolidate_minutes, seconds=1))
    report = await gaia.sweep()
    return report.consolidated, report.failed


async def test_with_nothing_but_a_key_a_user_is_learned_and_known_through_gemini(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """Conversation, consolidation, profile and recall each send Gemini the right request, with the key."""
    gemini.add(
        "agent",
        "Nice to meet you.",
        call("load_memory", query="sister"),
        "Her name is Noa.",
    )
    gemini.add("extractor", with_thoughts(facts("User is called Itay", "User's sister is called Noa")))
    gemini.add("profile", "- Itay, has a sister")
    clock = FakeClock()
    async with opened(tmp_path / "home", clock) as (gaia, agent):
        first = await gaia.conversation(agent, user_id="itay", channel="cli").send("I'm Itay, my sister is Noa")
        learned = await went_quiet(gaia, clock)
        stored = [fact.text for fact in await gaia.memory.facts(gaia.scope(user_id="itay"))]
        pieces = [
            piece async for piece in gaia.conversation(agent, user_id="itay", channel="web").stream("my sister's name?")
        ]
        hits = await gaia.memory.recall(gaia.scope(user_id="itay"), "sister", limit=1)
        await gaia.memory.settled()
        plain = await asyncio.to_thread(find_facts, gaia.mem0_config(), gaia.scope("itay"), "sister")
        line = gaia.describe()

    asked = gemini.requests_of("agent")

    assert first.text == "Nice to meet you."
    assert learned == (1, 0)
    assert stored == ["User is called Itay", "User's sister is called Noa"]
    assert "".join(pieces) == "Her name is Noa."
    assert hits[0].fact.text == "User's sister is called Noa"
    assert plain[0] == "User's sister is called Noa"
    assert "gemini" in line

    assert [request.method for request in asked] == ["generateContent", *["streamGenerateContent"] * 2]
    assert {"remember", "load_memory"} <= set(asked[0].tools)
    assert "<USER_PROFILE>" not in asked[0].system
    assert "- Itay, has a sister" in asked[1].system
    parts = [part for content in asked[2].body["contents"] for part in content["parts"]]
    [answered] = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    assert answered["memories"][0]["text"] == "User's sister is called Noa"
    assert "I'm Itay, my sister is Noa" in gemini.requests_of("extractor")[0].contents
    assert len(gemini.requests_of("extractor")) == len(gemini.requests_of("profile")) == 1
    assert {request.model for request in gemini.requests_of("embedder")} == {"models/gemini-embedding-2"}
    assert {request.headers.get("x-goog-api-key") for request in gemini.requests} == {"no-real-key"}
