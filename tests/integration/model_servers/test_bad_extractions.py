"""Answers of weak models and small servers about a conversation: what is asked next, and what the status says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.learning.circuit_breaker import PARK_AFTER_BAD_ANSWERS
from gaia_memory.model_calls import SHORT_ANSWER_TOKENS
from gaia_memory.testing import FakeClock
from support.harness import facts
from support.servers.call_limits import change_limits
from support.servers.fake_openai import CHAT_MODEL, Answer, Body, Completion, FakeOpenAI, NoAnswer

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.models import PendingConversation

CUT = Completion('{"memory": [{"id": "0", "text": "User likes', finish="length")
ENDLESS = Completion('{"memory": [{"id": "0", "text": "' + "She's a doctor. " * 100, finish="length")


@asynccontextmanager
async def learning(
    home: Path, server: FakeOpenAI, clock: FakeClock | None = None, **memory: Any
) -> AsyncIterator[tuple[Gaia, LlmAgent]]:
    """Open memory with the server for learning alone."""
    llm = {"provider": "openai", "model": CHAT_MODEL, "openai_base_url": server.url, **memory.pop("llm", {})}
    settings = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"llm": llm, "embedder": {"provider": "offline"}, **memory},
    }
    async with open_memory(settings, model="offline", clock=clock) as gaia:
        yield gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help.")


async def say(gaia: Gaia, agent: LlmAgent, *texts: str) -> None:
    chat = gaia.conversation(agent, user_id="ada", channel="cli")
    for text in texts:
        await chat.send(text)


async def known(gaia: Gaia) -> list[str]:
    return sorted(fact.text for fact in await gaia.memory.facts(gaia.scope("ada")))


async def waiting(gaia: Gaia) -> PendingConversation:
    [pending] = (await gaia.memory.status(gaia.scope("ada"))).pending
    return pending


def said(body: Body) -> list[str]:
    """Return the user's new messages in a request."""
    prompt = body["messages"][-1]["content"]
    messages, _ = json.JSONDecoder().raw_decode(prompt.partition("## New Messages\n")[2])
    return [message["content"] for message in messages if message["role"] == "user"]


def a_fact_each(body: Body) -> str:
    return facts(*(f"User likes {text}" for text in said(body)))


@pytest.mark.parametrize("prompt", ["gaia", "mem0"])
async def test_after_a_cut_answer_each_half_is_asked_about_at_once(prompt: str, tmp_path: Path) -> None:
    """A shorter question has a shorter answer, so that one sweep learns everything."""
    with FakeOpenAI() as server:
        server.set_default("extractor", lambda body: CUT if len(said(body)) > 1 else a_fact_each(body))
        async with learning(tmp_path, server, extraction_prompt=prompt) as (gaia, agent):
            await say(gaia, agent, "figs", "plums", "pears")
            report = await gaia.sweep(force=True)
            texts = await known(gaia)

    asked = [said(request.body) for request in server.requests_of("extractor")]
    assert asked == [["figs", "plums", "pears"], ["figs"], ["plums", "pears"], ["plums"], ["pears"]]
    assert (report.consolidated, report.failed) == (1, 0)
    assert texts == ["User likes figs", "User likes pears", "User likes plums"]


async def test_an_answer_that_is_full_is_a_cut_one(tmp_path: Path) -> None:
    """The schema allows three facts in 500 tokens: the fourth would be lost."""
    with FakeOpenAI() as server:
        server.set_default("extractor", a_fact_each)
        async with learning(tmp_path, server, llm={"max_tokens": 500}) as (gaia, agent):
            await say(gaia, agent, "figs", "plums", "pears", "grapes")
            await gaia.sweep(force=True)
            texts = await known(gaia)

    requests = server.requests_of("extractor")
    schema = requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["memory"]["maxItems"] == 3
    assert [len(said(request.body)) for request in requests] == [4, 2, 2]
    assert len(texts) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ENDLESS, "the model repeats itself: choose a larger one"),
        (facts("She's a doctor. " * 40), "the model repeats itself: choose a larger one"),
        (CUT, "the model's answer was cut: raise `memory.llm.max_tokens`"),
        (facts("x" * 150 + "y" * 150), "a fact was cut at 300 characters"),
        (facts(*(f"My sister is doctor {number}" for number in range(60))), "the answer has 60 facts"),
        ("Sure!", "the answer is no JSON"),
    ],
    ids=["endless", "endless within the schema", "cut", "cut by the schema", "more than allowed", "prose"],
)
async def test_each_attempt_has_another_temperature_and_the_status_says_what_was_wrong(
    answer: Answer, reason: str, tmp_path: Path
) -> None:
    """The same question at the same temperature has the same bad answer."""
    with FakeOpenAI() as server:
        server.set_default("extractor", answer)
        async with learning(tmp_path, server) as (gaia, agent):
            await say(gaia, agent, "My sister is a doctor")
            await gaia.sweep(force=True)
            pending = await waiting(gaia)

    assert [request.body["temperature"] for request in server.requests_of("extractor")] == [0.1, 0.5, 0.9]
    assert (pending.reason or "").startswith(reason)
    assert pending.attempts == 1


def slowly(answer: Answer) -> Answer:
    """Answer like a server that takes too long for an answer of many tokens, and says nothing before its end."""
    return lambda body: NoAnswer() if body["max_tokens"] > SHORT_ANSWER_TOKENS else answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(ENDLESS, "the model repeats itself: choose a larger one"), (CUT, "the model's answer does not end in time")],
    ids=["of repetitions", "of other words"],
)
async def test_an_endless_answer_that_takes_too_long_is_a_bad_one_and_not_an_outage(
    answer: Answer, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A short answer is asked for at once, and shows what the model says: others are learned as ever."""
    change_limits(monkeypatch, "OWN_SERVER_LEARNING", timeout_seconds=0.3)
    with FakeOpenAI() as server:
        server.set_default("extractor", lambda body: slowly(answer) if "doctor" in said(body)[0] else a_fact_each(body))
        async with learning(tmp_path, server) as (gaia, agent):
            for user in ("bob", "eve", "kim", "lou"):
                await gaia.conversation(agent, user_id=user, channel="cli").send("My sister is a doctor")
            await say(gaia, agent, "figs")
            report = await gaia.sweep(force=True)
            texts = await known(gaia)
            [pending] = (await gaia.memory.status(gaia.scope("bob"))).pending

    assert (report.consolidated, report.failed) == (1, 4)
    assert texts == ["User likes figs"]
    assert (pending.reason or "").startswith(reason)
    assert "the model is away" not in caplog.text


async def test_a_server_too_slow_for_a_long_answer_is_asked_for_short_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left out: what does not fit into a short answer is asked about in halves."""
    change_limits(monkeypatch, "OWN_SERVER_LEARNING", timeout_seconds=0.3)
    fruits = [f"fruit{number}" for number in range(8)]
    with FakeOpenAI() as server:
        server.set_default("extractor", lambda body: slowly(a_fact_each(body)))
        async with learning(tmp_path, server) as (gaia, agent):
            await say(gaia, agent, *fruits)
            report = await gaia.sweep(force=True)
            texts = await known(gaia)

    assert report.consolidated == 1
    assert texts == [f"User likes {fruit}" for fruit in fruits]
    assert [len(said(request.body)) for request in server.requests_of("extractor")] == [8, 8, 4, 4]


async def test_a_context_that_is_too_small_is_said_once_and_never_parks_a_conversation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The fixed text alone is too long, so nothing is halved; with a larger context everything is learned."""
    clock = FakeClock()
    with FakeOpenAI(context_tokens=500) as server:
        server.set_default("extractor", a_fact_each)
        async with learning(tmp_path, server, clock) as (gaia, agent):
            await say(gaia, agent, "figs", "plums")
            for _ in range(PARK_AFTER_BAD_ANSWERS + 1):
                clock.advance(timedelta(hours=2))
                await gaia.sweep()
            pending = await waiting(gaia)
            status = await gaia.memory.status(gaia.scope("ada"))
            before = len(server.requests_of("extractor"))
            server.context_tokens = None
            clock.advance(timedelta(hours=2))
            await gaia.sweep()
            texts = await known(gaia)

    told = [record for record in caplog.records if vars(record).get("gaia_event") == "model.small_context"]
    assert before == pending.attempts == PARK_AFTER_BAD_ANSWERS + 1
    assert not pending.parked
    assert "the question does not fit into the model's context: give the server a larger one" in status.reason
    assert "exceeds the available context size (500 tokens)" in (pending.reason or "")
    assert [record.levelname for record in told] == ["WARNING"]
    assert texts == ["User likes figs", "User likes plums"]
