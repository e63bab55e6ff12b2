"""The public fakes."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.genai import types

from gaia_memory.models import Chunk, EventPosition, ExtractedFact, Message, SessionKey, Turn
from gaia_memory.testing import (
    FakeClock,
    ScriptedEmbedder,
    ScriptedExtractor,
    ScriptedLanguageModel,
    ScriptedLlm,
    ScriptExhaustedError,
    bag_of_words,
    call,
)
from support.storage.scripted_backend import keep_all

pytestmark = pytest.mark.heavy


async def run_turn(model: ScriptedLlm, text: str, *, tools: list[Any] | None = None, stream: bool = False) -> list[Any]:
    """Run one turn of a fresh conversation and return its events."""
    agent = LlmAgent(name="root", model=model, tools=tools or [])
    async with InMemoryRunner(agent=agent, app_name="app") as runner:
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        return [
            event
            async for event in runner.run_async(
                user_id="u", session_id=session.id, new_message=message, run_config=config
            )
        ]


def chunk(text: str) -> Chunk:
    """Return a chunk of one turn with one message."""
    message = Message(role="user", text=text, said_at=datetime(2026, 1, 1, tzinfo=UTC), event_id="e", speaker="u")
    turn = Turn(seq=1, messages=(message,), end=EventPosition(1.0, "e"))
    return Chunk(key=SessionKey("app", "u", "s"), turns=(turn,))


async def test_a_scripted_model_answers_in_order_and_records_requests() -> None:
    """ADK runs the tool call; each request is recorded as it was."""

    def look(city: str) -> str:
        """Look something up."""
        return f"sun over {city}"

    model = ScriptedLlm(call("look", city="Rome"), "It is sunny.")
    events = await run_turn(model, "weather?", tools=[look])

    assert events[-1].content.parts[0].text == "It is sunny."
    assert [len(request.contents) for request in model.requests] == [1, 3]
    assert model.requests[1].contents[2].parts[0].function_response.response == {"result": "sun over Rome"}


async def test_a_scripted_model_streams_its_words_before_the_whole() -> None:
    """Partial events contain the words, the last event the whole answer."""
    events = await run_turn(ScriptedLlm("one two three"), "hi", stream=True)
    texts = [(event.partial, event.content.parts[0].text) for event in events]

    assert texts == [(True, "one "), (True, "two "), (True, "three"), (False, "one two three")]


async def test_a_scripted_model_raises_the_error_of_its_script() -> None:
    """The Runner gets the exception of the script."""
    with pytest.raises(TimeoutError, match="too slow"):
        await run_turn(ScriptedLlm(TimeoutError("too slow")), "hi")


async def test_a_scripted_model_calls_a_function_for_its_answer() -> None:
    """The function gets the request and is awaited if it is async."""

    async def later(request: LlmRequest) -> str:
        await asyncio.sleep(0)
        return f"you said {request.contents[-1].parts[0].text}"

    events = await run_turn(ScriptedLlm(later), "boo")

    assert events[-1].content.parts[0].text == "you said boo"


async def test_a_scripted_model_reports_an_exhausted_script() -> None:
    """The error contains the number of answers and the request."""
    with pytest.raises(ScriptExhaustedError, match=r"got 1 requests, but its script has 0 answers.*'hello there'"):
        await run_turn(ScriptedLlm(), "hello there")

    assert (await run_turn(ScriptedLlm(default="ok"), "hello"))[-1].content.parts[0].text == "ok"


async def test_a_scripted_embedder_places_texts_with_common_words_close_together() -> None:
    """The vectors are deterministic, have length one and rank texts by common words."""
    embedder = ScriptedEmbedder()
    tea, drinks, car = await embedder.embed(["likes green tea", "drinks green tea", "sold the car"], purpose="add")

    def near(left: tuple[float, ...], right: tuple[float, ...]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))

    assert near(tea, tea) == pytest.approx(1.0)
    assert near(tea, drinks) > near(tea, car)
    assert tea == bag_of_words("likes green tea")
    assert embedder.identity == "scripted/bag-of-words/64"


async def test_a_scripted_embedder_fails_and_waits_on_request() -> None:
    """A shut gate blocks the caller until it opens; a set error is raised."""
    embedder = ScriptedEmbedder()
    embedder.gate.shut()
    waiting = asyncio.create_task(embedder.embed(["a"], purpose="search"))
    await embedder.gate.wait_for_waiter()

    assert not waiting.done()

    embedder.gate.open()

    assert len(await waiting) == 1

    embedder.error = OSError("down")
    with pytest.raises(OSError, match="down"):
        await embedder.embed(["a"], purpose="add")


async def test_scripted_extractor_and_language_model_follow_their_scripts() -> None:
    """Both record requests and raise the errors of their scripts."""
    extractor = ScriptedExtractor(["likes tea"], ValueError("broken"), default=[])
    model = ScriptedLanguageModel("- tea")

    assert await extractor.extract(chunk("I like tea"), instructions="I", check=keep_all) == [
        ExtractedFact(text="likes tea")
    ]
    with pytest.raises(ValueError, match="broken"):
        await extractor.extract(chunk("x"), instructions="I", check=keep_all)
    assert await extractor.extract(chunk("x"), instructions="I", check=keep_all) == []
    assert [each.messages[0].text for each in extractor.chunks] == ["I like tea", "x", "x"]
    assert await model.complete("facts", system="be brief") == "- tea"
    assert (model.prompts, model.systems) == (["facts"], ["be brief"])
    with pytest.raises(ScriptExhaustedError):
        await model.complete("again", system="")


def test_a_fake_clock_moves_only_when_advanced() -> None:
    """It advances by seconds and by timedeltas."""
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(60)
    clock.advance(timedelta(hours=1))

    assert clock.now() == datetime(2026, 1, 1, 1, 1, tzinfo=UTC)


async def test_tests_reach_neither_the_network_nor_keys() -> None:
    """A test cannot resolve or connect to another machine, and sees no API key."""
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.org", 80)
    with socket.socket() as outside, pytest.raises(RuntimeError), pytest.warns(UserWarning, match="192.0.2.1"):
        outside.connect(("192.0.2.1", 80))

    assert not [name for name in os.environ if name.endswith("_API_KEY")]


async def test_blocking_code_of_the_package_on_the_loop_fails_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocking sleep in a function of the package raises while a loop runs."""
    import gaia_memory.testing as scanned

    source = compile("def nap(sleep):\n    sleep(0)\n", scanned.__file__, "exec")
    namespace: dict[str, Any] = {}
    exec(source, namespace)

    with pytest.raises(Exception, match=r"Blocking call to time\.sleep"):
        namespace["nap"](time.sleep)
