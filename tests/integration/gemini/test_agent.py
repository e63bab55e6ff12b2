"""The agent's model in every mood: the person reads an answer or one short apology, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.adk import patient_gemini
from gaia_memory.adk.conversation import APOLOGY
from support.fake_gemini import Drop, Slow, facts
from support.gemini_moods import HASTE, OF_AGENTS, THOUGHT, Mood

if TYPE_CHECKING:
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from support.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

How = Literal["send", "stream"]


@dataclass
class Person:
    """One open memory over Gemini, for anybody."""

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
    """Open memory as a host does that has set nothing but the key."""
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
    """Return a word that stands for a mood, and for nothing else."""
    return "Q" + "".join(letter for letter in name.title() if letter.isalnum())


@pytest.mark.acceptance("S11")
@pytest.mark.parametrize("how", ["send", "stream"])
async def test_in_every_mood_the_person_reads_an_answer_or_one_apology_and_what_they_said_is_learned_once(
    gemini: FakeGemini,
    people: Person,
    how: How,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One conversation through all of the table: each turn goes its way whatever came before it."""
    read: dict[str, tuple[str, int]] = {}
    for name, mood in OF_AGENTS.items():
        monkeypatch.setattr(patient_gemini, "SECONDS", HASTE if mood.hangs else 30.0)
        gemini.recover("agent")
        gemini.add("agent", *mood.answers)
        before = len(gemini.of("agent"))
        read[name] = await people.say("ann", f"My word is {marked(name)}", how), len(gemini.of("agent")) - before
    monkeypatch.setattr(patient_gemini, "SECONDS", 30.0)
    gemini.recover("agent", "fine")
    last = await people.say("ann", "And now?", how)

    assert read == {name: expected(mood, how) for name, mood in OF_AGENTS.items()}
    assert last == "fine"

    gemini.default("extractor", lambda body: facts(*_words_in(body)))
    await people.gaia.sweep(force=True)
    await people.gaia.sweep(force=True)
    shown = "\n".join(_new_messages(request.body) for request in gemini.of("extractor"))

    assert sorted(await people.facts("ann")) == sorted(f"Word {marked(name)}" for name in OF_AGENTS)
    assert {name: shown.count(f'{marked(name)}"') for name in OF_AGENTS} == dict.fromkeys(OF_AGENTS, 1)
    assert APOLOGY not in shown
    assert THOUGHT not in shown
    assert not [name for name in OF_AGENTS if marked(name) in caplog.text]
    assert "Once upon" not in caplog.text


def expected(mood: Mood, how: How) -> tuple[str, int]:
    """Return what the table says of one way of asking."""
    if how == "send":
        return mood.said, mood.asked
    streamed = mood.said if mood.streamed is None else mood.streamed
    return streamed, mood.asked if mood.asked_streaming is None else mood.asked_streaming


def _new_messages(body: dict[str, Any]) -> str:
    prompt = str(body["contents"][-1]["parts"][0]["text"])
    return prompt.partition("## New Messages")[2].partition("## Observation Date")[0]


def _words_in(body: dict[str, Any]) -> list[str]:
    shown = _new_messages(body)
    return [f"Word {marked(name)}" for name in OF_AGENTS if f'{marked(name)}"' in shown]


@pytest.mark.acceptance("S11")
async def test_a_stream_that_breaks_leaves_the_question_and_no_half_answer(gemini: FakeGemini, people: Person) -> None:
    """The words that came are shown once and not kept; the next turn asks with the question and without them."""
    gemini.add("agent", Drop(after="Once upon a"), "The whole tale.")
    pieces = [piece async for piece in people.talk("ann").stream("Tell me a tale")]
    await people.say("ann", "Go on", "stream")
    asked = gemini.of("agent")[-1].contents
    gemini.default("extractor", facts("likes tales"))
    await people.gaia.sweep(force=True)

    assert pieces == ["Once upon a", f"\n{APOLOGY}"]
    assert asked == "Tell me a tale\nGo on"
    assert "Once upon a" not in gemini.of("extractor")[0].contents
    assert "The whole tale." in gemini.of("extractor")[0].contents


async def test_a_conversation_knows_that_its_last_answer_broke_off(gemini: FakeGemini, people: Person) -> None:
    """Words came, and yet it was no answer."""
    talk = people.talk("ann")
    gemini.add("agent", Drop(after="Once"), "fine")
    async for _ in talk.stream("Tell me a tale"):
        pass
    failed = talk.has_failed
    await talk.send("Hello?")

    assert (failed, talk.has_failed) == (True, False)


async def test_a_long_answer_may_stream_longer_than_one_piece_may_take(
    gemini: FakeGemini, people: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is on silence: pieces that keep coming are waited for."""
    monkeypatch.setattr(patient_gemini, "SECONDS", 0.6)
    gemini.add("agent", Slow("one two three four five", each=0.25))

    assert await people.say("ann", "Count", "stream") == "one two three four five"


async def test_a_server_that_is_not_there_costs_an_apology(people: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at the address."""
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")

    assert await people.say("ann", "Hello") == APOLOGY
    assert await people.say("ann", "Hello", "stream") == APOLOGY
