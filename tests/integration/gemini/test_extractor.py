"""The extractor's model in every scenario: nothing is cleared before it is learned, or learned twice."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import model_calls, open_memory
from gaia_memory.learning.circuit_breaker import PARK_AFTER_BAD_ANSWERS
from gaia_memory.testing import FakeClock
from support.servers.fake_gemini import (
    Answer,
    Blocked,
    Drop,
    Failure,
    FakeGemini,
    Raw,
    Reply,
    Request,
    call,
    facts,
    finished_with,
    invalid_key,
    no_candidate,
    only_thoughts,
    proxy_page,
    truncated,
)

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.models import Status

SECRET = "ZEBRA"
FACT = "User likes tea"

BAD: dict[str, tuple[Answer, str]] = {
    "429": (Failure(429, message="You exceeded your current quota."), "asked too often (429), or its quota is used up"),
    "429 in an hour": (Failure(429, 3600), "asked too often (429), or its quota is used up"),
    "500": (Failure(500), "failed (500): it is overloaded or out of order"),
    "503": (Failure(503), "failed (503): it is overloaded"),
    "504": (Failure(504), "did not answer in time (504)"),
    "a wrong key": (invalid_key(), "refused the key (400): check it in the environment: API key not valid"),
    "no such model": (Failure(404), "check the model's name"),
    "a refused request": (Failure(400, message="too long"), "refused the request (400): too long"),
    "dropped": (Drop(), "broke off the connection"),
    "dropped in the body": (Drop("body"), "broke off the connection"),
    "broken JSON": (Raw('{"candidates": [{"content": "' + SECRET), "could not be read, as a proxy"),
    "JSON of another form": (Raw('{"candidates": [{"content": "' + SECRET + '"}]}'), "could not be read, as a proxy"),
    "a proxy's page": (proxy_page(), "could not be read, as a proxy"),
    "an empty body": (Raw(""), "Gemini gave no answer"),
    "no candidate": (no_candidate(), "Gemini gave no answer"),
    "a blocked prompt": (Blocked(), "blocked the prompt (SAFETY)"),
    "SAFETY": (finished_with("SAFETY"), "stopped before the end of its answer (SAFETY)"),
    "SAFETY after all": (finished_with("SAFETY", facts(FACT)), "stopped before the end of its answer (SAFETY)"),
    "MALFORMED_FUNCTION_CALL": (finished_with("MALFORMED_FUNCTION_CALL"), "(MALFORMED_FUNCTION_CALL)"),
    "cut": (truncated(facts(FACT)[:20]), "was cut: raise `memory.llm.max_tokens`"),
    "cut and yet whole": (truncated(facts(FACT)), "was cut: raise `memory.llm.max_tokens`"),
    "cut before a word": (truncated(""), "was cut: raise `memory.llm.max_tokens`"),
    "only thoughts": (only_thoughts(facts(FACT)), "answer is blank"),
    "a call": (call("save", text=FACT), "answer is blank"),
    "no parts": (Reply(()), "answer is blank"),
    "blank": (" \n\t", "answer is blank"),
    "prose": (f"I cannot do that with {SECRET}.", "the answer is no JSON"),
    "prose before JSON": (f"Here is what I found: {facts(SECRET)}", "the answer is no JSON"),
    "an excuse with an empty form": (f"No {SECRET}:\n```json\n{facts()}\n```", "contains more than an empty list"),
    "truncated JSON": (facts(SECRET)[:-8], "was cut: raise `memory.llm.max_tokens`"),
    "another form": ('{"facts": ["' + SECRET + '"]}', "the answer is of another form: memory: Field required"),
    "no object": ('"' + SECRET + '"', "of another form: the whole: no JSON object"),
    "strings": ('["' + SECRET + '"]', "of another form: the whole: no JSON object"),
    "a list of strings": ('{"memory": ["' + SECRET + '"]}', "of another form: memory.0: no JSON object"),
    "a list of nothing": ('{"memory": null}', "of another form: memory"),
    "one bad among good": ('{"memory": [{"text": "tea"}, {"text": 7}]}', "of another form: memory.1.text"),
}


# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@dataclass
class Learner:
    """One open memory with Gemini; each user sends one message."""

    gaia: Gaia
    clock: FakeClock
    agent: LlmAgent

    async def say(self, user: str, text: str) -> str:
        return (await self.gaia.conversation(self.agent, user_id=user, channel="cli").send(text)).text

    async def status(self, user: str) -> Status:
        return await self.gaia.memory.status(self.gaia.scope(user_id=user))

    async def facts(self, user: str) -> list[str]:
        return [fact.text for fact in await self.gaia.memory.facts(self.gaia.scope(user_id=user))]

    async def events(self, user: str) -> int:
        session = await self.gaia.session_service.get_session(app_name="gaia", user_id=user, session_id=f"{user}:cli")
        return 0 if session is None else len(session.events)

    async def sweep_after(self, **passed: float) -> tuple[int, int]:
        self.clock.advance(timedelta(**passed))
        report = await self.gaia.sweep()
        return report.consolidated, report.failed


@asynccontextmanager
async def learning(home: Path) -> AsyncIterator[Learner]:
    """Open memory with Gemini for learning alone."""
    settings: dict[str, Any] = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "offline"}},
    }
    clock = FakeClock()
    async with open_memory(settings, home=home, clock=clock, model="offline") as gaia:
        yield Learner(gaia, clock, LlmAgent(name="assistant", model=gaia.model, instruction="Help."))


@pytest.fixture
async def learner(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[Learner]:
    """Open memory with Gemini for learning alone."""
    async with learning(tmp_path / "home") as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.acceptance("I08", "I09", "S13")
async def test_after_every_bad_answer_nothing_is_cleared_and_the_next_good_one_learns_once(
    gemini: FakeGemini, learner: Learner, caplog: pytest.LogCaptureFixture
) -> None:
    """User and status get the reason, in words that contain nothing of the answer."""
    told: dict[str, Any] = {}
    users = {name: name.replace(" ", "-") for name in BAD}
    for name, (answer, words) in BAD.items():
        gemini.recover("extractor", answer)
        await learner.say(users[name], "I like tea")
        reply = await learner.say(users[name], "/reset")
        status = await learner.status(users[name])
        shown = words if words in status.reason else status.reason
        waiting = [(each.attempts, each.parked) for each in status.pending]
        told[name] = ("not saved" in reply, status.state, shown, waiting, await learner.events(users[name]))
        assert SECRET not in reply + status.reason
    gemini.recover("extractor", facts(FACT))
    before = len(gemini.requests_of("extractor"))
    reports = [await learner.gaia.sweep(force=True) for _ in range(2)]
    learned = {name: (await learner.facts(user), await learner.events(user)) for name, user in users.items()}
    after = await learner.status(users["cut"])

    assert told == {name: (True, "degraded", words, [(1, False)], 2) for name, (_, words) in BAD.items()}
    assert learned == {name: ([FACT], 0) for name in BAD}
    assert [report.consolidated for report in reports] == [len(BAD), 0]
    assert len(gemini.requests_of("extractor")) - before == len(BAD)
    assert (after.state, after.pending) == ("ok", ())
    assert SECRET not in caplog.text
    assert "like tea" not in caplog.text


@pytest.mark.parametrize("header", [True, False], ids=["header", "body alone"])
async def test_no_retry_happens_before_the_delay_that_gemini_requests(
    gemini: FakeGemini, learner: Learner, header: bool
) -> None:
    """There was one request: an earlier retry would only be refused again."""
    gemini.add("extractor", Failure(429, 600, header=header), facts(FACT))
    await learner.say("ann", "I like tea")
    refused = await learner.sweep_after(minutes=31)
    early = await learner.sweep_after(seconds=595)
    due = await learner.sweep_after(seconds=6)

    assert (refused, early, due) == ((0, 1), (0, 0), (1, 0))
    assert await learner.facts("ann") == [FACT]
    assert len(gemini.requests_of("extractor")) == 2


async def test_a_requested_delay_beyond_a_day_is_ignored(gemini: FakeGemini, learner: Learner) -> None:
    """Otherwise the messages would never be learned."""
    gemini.add("extractor", Failure(429, 999_999_999), facts(FACT))
    await learner.say("ann", "I like tea")
    await learner.sweep_after(minutes=31)

    assert await learner.sweep_after(hours=25) == (1, 0)


@pytest.mark.acceptance("I13")
@pytest.mark.parametrize("bad", ["prose", Failure(503), truncated(facts(FACT))], ids=["prose", "503", "cut"])
async def test_learned_chunks_of_a_long_conversation_are_not_extracted_again(
    gemini: FakeGemini, learner: Learner, bad: Answer
) -> None:
    """The third of five requests fails: the next attempt begins with it."""
    for number in range(1, 6):
        await learner.say("ann", f"part {number} " + "of my life " * 700)
    gemini.add("extractor", facts("part 1"), facts("part 2"), *[bad] * model_calls.LEARNING.max_attempts)
    failed = await learner.sweep_after(minutes=31)
    early, status, kept = await learner.facts("ann"), await learner.status("ann"), await learner.events("ann")
    gemini.add("extractor", *(facts(f"part {number}") for number in (3, 4, 5)))
    learned = await learner.sweep_after(minutes=2)

    assert (failed, learned) == ((0, 1), (1, 0))
    assert early == ["part 1", "part 2"]
    assert [each.attempts for each in status.pending] == [1]
    assert kept == 10
    assert [_parts(request) for request in gemini.requests_of("extractor")] == [
        ["1"],
        ["2"],
        *[["3"]] * 4,
        ["4"],
        ["5"],
    ]
    assert await learner.facts("ann") == [f"part {number}" for number in range(1, 6)]
    assert await learner.events("ann") == 0


@pytest.mark.slow
async def test_a_conversation_with_only_bad_answers_is_parked_reported_and_retried_on_request(
    gemini: FakeGemini, learner: Learner
) -> None:
    """Outages do not count; a bad answer, an outage or parking loses no message."""
    await learner.say("ann", "I like tea")
    learner.clock.advance(timedelta(minutes=31))
    for answer in [*[Failure(503)] * 9, *["prose", Failure(503)] * (PARK_AFTER_BAD_ANSWERS - 1)]:
        gemini.recover("extractor", answer)
        assert await learner.sweep_after(hours=1, minutes=1) == (0, 1)
    before = await learner.status("ann")
    gemini.recover("extractor", "prose")
    last = await learner.sweep_after(hours=1, minutes=1)
    parked = await learner.status("ann")
    asked = len(gemini.requests_of("extractor"))
    left_alone = await learner.sweep_after(hours=48)
    untouched = len(gemini.requests_of("extractor"))
    gemini.recover("extractor", facts(FACT))
    forced = await learner.gaia.sweep(force=True)

    assert [each.parked for each in before.pending] == [False]
    assert "; next try " in before.reason
    assert (last, left_alone) == ((0, 1), (0, 0))
    assert untouched == asked
    assert [each.parked for each in parked.pending] == [True]
    assert "the answer is no JSON" in parked.reason
    assert "parked after too many bad answers" in parked.reason
    assert "gaia sweep --force" in parked.remedy
    assert (forced.consolidated, await learner.facts("ann"), await learner.events("ann")) == (1, [FACT], 0)


@pytest.mark.slow
async def test_a_turn_without_a_good_answer_blocks_only_later_turns(gemini: FakeGemini, learner: Learner) -> None:
    """It is sent in smaller and smaller chunks, finally alone."""
    poison = 6

    def picky(body: dict[str, Any]) -> Answer:
        parts = _parts_of(_said_in(body))
        return finished_with("SAFETY") if str(poison) in parts else facts(*(f"fact {part}" for part in parts))

    gemini.set_default("extractor", picky)
    for number in range(1, 9):
        await learner.say("ann", f"part {number} of my life")
    learner.clock.advance(timedelta(minutes=31))
    for _ in range(2 * PARK_AFTER_BAD_ANSWERS):
        await learner.sweep_after(hours=1, minutes=1)
        status = await learner.status("ann")
        if status.pending[0].parked:
            break
    early, last = await learner.facts("ann"), _parts(gemini.requests_of("extractor")[-1])
    asked_early = len(gemini.requests_of("extractor"))
    gemini.set_default("extractor", lambda body: facts(*(f"fact {part}" for part in _parts_of(_said_in(body)))))
    await learner.gaia.sweep(force=True)
    asked = [part for request in gemini.requests_of("extractor")[asked_early:] for part in _parts(request)]

    assert early == [f"fact {number}" for number in range(1, poison)]
    assert last == [str(poison)]
    assert [each.parked for each in status.pending] == [True]
    assert asked == ["6", "7", "8"]
    assert sorted(await learner.facts("ann")) == [f"fact {number}" for number in range(1, 9)]
    assert await learner.events("ann") == 0


def _said_in(body: dict[str, Any]) -> str:
    return "\n".join(part["text"] for content in body["contents"] for part in content["parts"])


def _parts(request: Request) -> list[str]:
    return _parts_of(request.contents)


def _parts_of(contents: str) -> list[str]:
    new = contents.split("## New Messages")[-1]
    return re.findall(r"part (\d+) of", new)
