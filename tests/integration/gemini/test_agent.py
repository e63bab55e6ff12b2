"""The agent's model in every scenario: the user gets an answer or one short apology, and nothing is lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory import model_calls, open_memory
from gaia_memory.adk.conversation import APOLOGY
from support.servers.call_limits import change_limits
from support.servers.fake_gemini import (
    Drop,
    Slow,
    facts,
)
from support.servers.gemini_scenarios import AGENT_SCENARIOS, SHORT_TIMEOUT_SECONDS, THOUGHT, Scenario

if TYPE_CHECKING:
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

How = Literal["send", "stream"]


@dataclass
class Person:
    """One open memory with Gemini, for any user."""

    gaia: Gaia
    agent: LlmAgent

    def talk(self, user: str) -> Conversation:
        return self.gaia.conversation(self.agent, user_id=user, channel="cli")

    async def say(self, user: str, text: str, how: How = "send") -> str:
        if how == "send":
            return (await self.talk(user).send(text)).text
        return "".join([piece async for piece in self.talk(user).stream(text)])

    async def facts(self, user: str) -> list[str]:
        return [fact.text for fact in await self.gaia.memory.facts(self.gaia.scope(user_id=user))]


@pytest.fixture
async def people(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[Person]:
    """Open memory as a host does that has configured only the key."""
    async with opened(tmp_path / "home") as person:
        yield person


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Person]:
    settings: dict[str, Any] = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "offline"}},
    }
    async with open_memory(settings, home=home) as gaia:
        yield Person(gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help."))


def marked(name: str) -> str:
    """Return a unique word for a scenario."""
    return "Q" + "".join(letter for letter in name.title() if letter.isalnum())


@pytest.mark.slow
@pytest.mark.acceptance("S11")
@pytest.mark.parametrize("how", ["stream", "send"])
async def test_in_every_scenario_the_user_gets_an_answer_or_one_apology_and_is_learned_once(
    gemini: FakeGemini,
    people: Person,
    how: How,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One conversation through all scenarios: no turn is affected by earlier ones."""
    # The first turns leave the window while the last ones are said.
    gemini.set_default("extractor", lambda body: facts(*_words_in(body)))
    read: dict[str, tuple[str, int]] = {}
    for name, mood in AGENT_SCENARIOS.items():
        change_limits(monkeypatch, "AGENT", timeout_seconds=SHORT_TIMEOUT_SECONDS if mood.hangs else 30.0)
        gemini.recover("agent")
        gemini.add("agent", *mood.answers)
        before = len(gemini.requests_of("agent"))
        async with asyncio.timeout(60):
            said = await people.say("ann", f"My word is {marked(name)}", how)
        read[name] = said, len(gemini.requests_of("agent")) - before
    change_limits(monkeypatch, "AGENT", timeout_seconds=30.0)
    gemini.recover("agent", "fine")
    last = await people.say("ann", "And now?", how)

    assert read == {name: expected(mood, how) for name, mood in AGENT_SCENARIOS.items()}
    assert last == "fine"

    await people.gaia.sweep(force=True)
    await people.gaia.sweep(force=True)
    shown = "\n".join(_new_messages(request.body) for request in gemini.requests_of("extractor"))

    assert sorted(await people.facts("ann")) == sorted(f"Word {marked(name)}" for name in AGENT_SCENARIOS)
    assert {name: shown.count(f'{marked(name)}"') for name in AGENT_SCENARIOS} == dict.fromkeys(AGENT_SCENARIOS, 1)
    assert APOLOGY not in shown
    assert THOUGHT not in shown
    assert not [name for name in AGENT_SCENARIOS if marked(name) in caplog.text]
    assert "Once upon" not in caplog.text


def expected(mood: Scenario, how: How) -> tuple[str, int]:
    """Return the expected outcome of a scenario for one way of sending."""
    if how == "send":
        return mood.reply, mood.request_count
    streamed = mood.reply if mood.streamed_reply is None else mood.streamed_reply
    return streamed, mood.request_count if mood.streaming_request_count is None else mood.streaming_request_count


def _new_messages(body: dict[str, Any]) -> str:
    prompt = str(body["contents"][-1]["parts"][0]["text"])
    return prompt.partition("## New Messages")[2].partition("## Observation Date")[0]


def _words_in(body: dict[str, Any]) -> list[str]:
    shown = _new_messages(body)
    return [f"Word {marked(name)}" for name in AGENT_SCENARIOS if f'{marked(name)}"' in shown]


@pytest.mark.acceptance("S11")
async def test_a_broken_stream_keeps_the_question_and_no_partial_answer(gemini: FakeGemini, people: Person) -> None:
    """The partial text is shown once and not stored; the next request contains the question without it."""
    gemini.add("agent", Drop(partial_text="Once upon a"), "The whole tale.")
    pieces = [piece async for piece in people.talk("ann").stream("Tell me a tale")]
    await people.say("ann", "Go on", "stream")
    asked = gemini.requests_of("agent")[-1].contents
    gemini.set_default("extractor", facts("likes tales"))
    await people.gaia.sweep(force=True)

    assert pieces == ["Once upon a", f"\n{APOLOGY}"]
    assert re.sub("<TURN_NOTES>.*?</TURN_NOTES>\n", "", asked, flags=re.DOTALL) == "Tell me a tale\nGo on"
    assert "Once upon a" not in gemini.requests_of("extractor")[0].contents
    assert "The whole tale." in gemini.requests_of("extractor")[0].contents


@pytest.mark.slow
async def test_a_long_answer_may_stream_for_longer_than_the_timeout(
    gemini: FakeGemini, people: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeout limits silence: a stream that keeps sending is waited for."""
    change_limits(monkeypatch, "AGENT", timeout_seconds=5.0)
    gemini.add("agent", Slow("one two three four five", seconds_per_word=1.2))

    assert await people.say("ann", "Count", "stream") == "one two three four five"


async def test_a_retry_repeats_the_identical_request(
    gemini: FakeGemini, people: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADK removes cached content from the request before it sends it."""
    seen: list[tuple[int, str]] = []

    async def caching(_: Gemini, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        seen.append((len(request.contents), str(request.config.system_instruction)))
        request.contents = request.contents[:0]
        request.config.system_instruction = None
        if len(seen) == 1:
            raise ConnectionResetError
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="fine")]))

    monkeypatch.setattr(Gemini, "generate_content_async", caching)

    assert await people.say("ann", "Hello") == "fine"
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_the_retry_pauses_match_the_documentation() -> None:
    """A request to the model takes 75 seconds at most: the last attempt begins within 15, and has 60."""
    assert (model_calls.AGENT.window_seconds, model_calls.AGENT.timeout_seconds) == (15.0, 60.0)
    assert model_calls.AGENT_STREAM_SECONDS == 300.0
