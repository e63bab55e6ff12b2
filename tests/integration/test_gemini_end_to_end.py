"""The main job through the real google-genai client of ADK and mem0, against a Gemini that runs on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.testing import FakeClock
from support.fake_gemini import Blocked, Failure, call, cut, facts, split, thinking

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.fake_gemini import FakeGemini

pytestmark = [
    # google-genai subclasses aiohttp's session, which aiohttp discourages.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]


@asynccontextmanager
async def opened(home: Path, clock: FakeClock) -> AsyncIterator[tuple[Gaia, LlmAgent]]:
    """Open memory as a host does that has set nothing but the key."""
    settings = {"home": str(home), "sessions": {"coalesce_seconds": 0}}
    async with open_memory(settings, home=home, clock=clock) as gaia:
        yield gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help.")


async def went_quiet(gaia: Gaia, clock: FakeClock) -> tuple[int, int]:
    """Let the idle period pass and sweep; return how many conversations were learned and how many failed."""
    clock.advance(timedelta(minutes=gaia.config.sessions.idle_consolidate_minutes, seconds=1))
    report = await gaia.sweep()
    return report.consolidated, report.failed


async def test_with_nothing_but_a_key_a_person_is_learned_and_known_through_gemini(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """Conversation, consolidation, profile and recall each ask Gemini what they should, with the key."""
    gemini.add(
        "agent",
        "Nice to meet you.",
        call("load_memory", query="sister"),
        "Her name is Noa.",
    )
    gemini.add("extractor", thinking(facts("User is called Itay", "User's sister is called Noa")))
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
        partition = gaia.scope(user_id="itay").partition
        plain = await asyncio.to_thread(gaia.mem0.search, "sister", filters={"user_id": partition})
        line = gaia.describe()

    asked = gemini.of("agent")

    assert first.text == "Nice to meet you."
    assert learned == (1, 0)
    assert stored == ["User is called Itay", "User's sister is called Noa"]
    assert "".join(pieces) == "Her name is Noa."
    assert hits[0].fact.text == "User's sister is called Noa"
    assert plain["results"][0]["memory"] == "User's sister is called Noa"
    assert "gemini" in line

    assert [request.method for request in asked] == ["generateContent", *["streamGenerateContent"] * 2]
    assert {"remember", "load_memory"} <= set(asked[0].tools)
    assert "<USER_PROFILE>" not in asked[0].system
    assert "- Itay, has a sister" in asked[1].system
    answered = asked[2].body["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert answered["memories"][0]["text"] == "User's sister is called Noa"
    assert "I'm Itay, my sister is Noa" in gemini.of("extractor")[0].contents
    assert len(gemini.of("extractor")) == len(gemini.of("profile")) == 1
    assert {request.model for request in gemini.of("embedder")} == {"models/gemini-embedding-2"}
    assert {request.headers.get("x-goog-api-key") for request in gemini.requests} == {"no-real-key"}


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(cut(facts("User likes tea")[:20]), id="cut"),
        pytest.param(Blocked(), id="blocked"),
        pytest.param("", id="blank"),
        pytest.param("Sorry, I cannot do that.", id="prose"),
    ],
)
async def test_an_answer_of_gemini_that_is_no_answer_is_a_failure_and_the_talk_stays(
    gemini: FakeGemini, tmp_path: Path, bad: object
) -> None:
    """Nothing is cleared after it, and the next sweep learns the same talk, once."""
    gemini.default("extractor", bad)  # type: ignore[arg-type]
    clock = FakeClock()
    async with opened(tmp_path / "home", clock) as (gaia, agent):
        scope = gaia.scope(user_id="itay")
        await gaia.conversation(agent, user_id="itay", channel="cli").send("I like tea")
        first = await went_quiet(gaia, clock)
        pending = (await gaia.memory.status(scope)).pending
        gemini.default("extractor", split(facts("User likes tea"), 3))
        clock.advance(timedelta(days=1))
        second = await gaia.sweep()
        stored = [fact.text for fact in await gaia.memory.facts(scope)]

    assert first == (0, 1)
    assert [waiting.key.session for waiting in pending] == ["itay:cli"]
    assert (second.consolidated, stored) == (1, ["User likes tea"])


async def test_an_embedder_that_gemini_refuses_costs_the_vector_and_not_the_fact(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """The fact is on disk and found by its words while the embedder answers nothing but errors."""
    async with opened(tmp_path / "home", FakeClock()) as (gaia, _):
        scope = gaia.scope(user_id="itay")
        await gaia.memory.remember(scope, "likes green tea")
        await gaia.memory.recall(scope, "tea")
        gemini.default("embedder", Failure(400))
        fact = await gaia.memory.remember(scope, "allergic to nuts")
        hits = await gaia.memory.recall(scope, "nuts")

    assert [hit.fact.id for hit in hits] == [fact.id]
    assert hits[0].missing == ("vectors",)


async def test_a_gemini_that_refuses_for_load_costs_an_apology_and_not_the_conversation(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """After an error of the model the person reads one sentence, and the next message is answered."""
    gemini.add("agent", Failure(400), "Hello again.")
    async with opened(tmp_path / "home", FakeClock()) as (gaia, agent):
        talk = gaia.conversation(agent, user_id="itay", channel="cli")
        sorry, hello = await talk.send("hi"), await talk.send("hi?")

    assert "Sorry" in sorry.text
    assert "scripted failure" not in json.dumps(sorry.text)
    assert hello.text == "Hello again."
