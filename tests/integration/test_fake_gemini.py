"""The fake Gemini server, seen through the real google-genai client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google import genai
from google.genai import types

from support.servers.fake_gemini import call, in_parts, truncated, with_thoughts

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
