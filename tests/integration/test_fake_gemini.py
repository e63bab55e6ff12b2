"""The fake Gemini server, seen through the real google-genai client."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from google import genai
from google.genai import errors, types

from support.servers.fake_gemini import Blocked, Drop, Failure, Hang, call, facts, in_parts, truncated, with_thoughts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.servers.fake_gemini import FakeGemini


@pytest.fixture
def client(gemini: FakeGemini) -> Iterator[genai.Client]:
    """Return a real client that finds the fake server through its environment."""
    with genai.Client(http_options=types.HttpOptions(timeout=2_000)) as made:
        yield made


def asked(client: genai.Client, text: str = "hi") -> types.GenerateContentResponse:
    """Send one request."""
    return client.models.generate_content(model="gemini-flash", contents=text)


def test_the_real_client_gets_scripted_answers_and_every_request_is_recorded(
    gemini: FakeGemini, client: genai.Client
) -> None:
    """Text, calls, thoughts and split answers arrive as from the real server."""
    gemini.add(
        "agent",
        "hello",
        call("look", city="Rome"),
        with_thoughts("42"),
        in_parts("one two three", 3),
        truncated("half"),
    )
    plain, tool, thought, parts, half = [asked(client, f"question {number}") for number in range(5)]

    assert plain.text == "hello"
    assert tool.function_calls is not None
    assert tool.function_calls[0].args == {"city": "Rome"}
    assert thought.text == "42"
    assert (parts.text, len(parts.parts or [])) == ("one two three", 3)
    assert half.candidates is not None
    assert half.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert [request.contents for request in gemini.requests_of("agent")] == [
        f"question {number}" for number in range(5)
    ]
    assert asked(client).text == "ok"


def test_the_real_client_streams_word_by_word(gemini: FakeGemini, client: genai.Client) -> None:
    """Each word is an event of its own, the last one has the finish reason."""
    gemini.add("agent", "one two three")
    pieces = list(client.models.generate_content_stream(model="gemini-flash", contents="hi"))

    assert [piece.text for piece in pieces] == ["one ", "two ", "three"]
    assert pieces[-1].candidates is not None
    assert pieces[-1].candidates[0].finish_reason == types.FinishReason.STOP


def test_failures_reach_the_real_client_as_failures(gemini: FakeGemini, client: genai.Client) -> None:
    """An error code, a blocked prompt, a timeout and a dropped connection look like those of the real server."""
    gemini.add("agent", Failure(429, retry_after=7), Failure(500), Blocked(), Drop())
    with pytest.raises(errors.ClientError, match="429") as refused:
        asked(client)
    with pytest.raises(errors.ServerError, match="500"):
        asked(client)
    blocked = asked(client)
    with pytest.raises(httpx.RemoteProtocolError):
        asked(client)

    assert refused.value.response is not None
    assert refused.value.response.headers["Retry-After"] == "7"
    assert blocked.candidates is None
    assert blocked.prompt_feedback is not None
    assert blocked.prompt_feedback.block_reason == types.BlockedReason.SAFETY


def test_a_hanging_request_times_out_or_is_released(gemini: FakeGemini, client: genai.Client) -> None:
    """The client waits until its own timeout, or until the server closes the connection."""
    gemini.add("agent", Hang())
    threading.Timer(0.1, gemini.release_hanging).start()

    with pytest.raises(httpx.HTTPError):
        asked(client)


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")  # google-genai's own
async def test_the_real_client_embeds_with_the_requested_dimensions(gemini: FakeGemini, client: genai.Client) -> None:
    """The same text has the same vector, closer to a text with common words than to another."""
    answer = await client.aio.models.embed_content(
        model="models/gemini-embedding-2",
        contents=[
            types.Content(parts=[types.Part(text=text)]) for text in ("green tea", "green tea", "tea", "a red car")
        ],
        config=types.EmbedContentConfig(output_dimensionality=128),
    )
    await client.aio.aclose()
    vectors = [embedding.values or [] for embedding in answer.embeddings or []]

    def near(left: list[float], right: list[float]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))

    assert [len(vector) for vector in vectors] == [128] * 4
    assert vectors[0] == vectors[1]
    assert near(vectors[0], vectors[2]) > near(vectors[0], vectors[3])
    assert gemini.requests_of("embedder")[0].texts == ["green tea", "green tea", "tea", "a red car"]


def test_requests_are_distinguished_by_their_content(gemini: FakeGemini, client: genai.Client) -> None:
    """The extractor's and the profile's requests have separate scripts."""
    gemini.add("extractor", facts("likes tea"))
    gemini.add("profile", "- tea")
    answers = [asked(client, text).text for text in ("# Memory Extractor\n## New Messages\n", "<FACTS>\n", "hi")]

    assert answers == ['{"memory": [{"id": "0", "text": "likes tea"}]}', "- tea", "ok"]
    assert [request.kind for request in gemini.requests] == ["extractor", "profile", "agent"]
