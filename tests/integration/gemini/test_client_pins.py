"""What google-genai's own retries do not do, which is why we replace them: check again if a test fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from google import genai
from google.genai import errors, types

from support.servers.fake_gemini import Drop, Failure, Raw

if TYPE_CHECKING:
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@pytest.fixture
def client(gemini: FakeGemini) -> Iterator[genai.Client]:
    """Return a client that retries where it can, without pauses."""
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.01, jitter=0.0)
    with genai.Client(http_options=types.HttpOptions(timeout=5_000, retry_options=retry)) as made:
        yield made


async def ask(client: genai.Client) -> None:
    """Send a request like ADK does."""
    try:
        await client.aio.models.generate_content(model="gemini-flash", contents="hi")
    finally:
        await client.aio.aclose()


async def test_the_client_still_ignores_a_retry_delay_from_gemini(gemini: FakeGemini, client: genai.Client) -> None:
    """Both in the header and in the body: it was told to wait a minute."""
    gemini.set_default("agent", Failure(429, 60))
    with pytest.raises(errors.ClientError):
        await ask(client)
    times = [request.at for request in gemini.requests_of("agent")]

    assert len(times) == 3
    assert times[-1] - times[0] < 5


async def test_the_client_still_does_not_retry_a_broken_body(gemini: FakeGemini, client: genai.Client) -> None:
    """Over aiohttp, used by ADK's model, and over httpx, used by mem0's."""
    gemini.set_default("agent", Drop("body"))
    with pytest.raises(Exception, match=r"not completed|without sending complete|peer closed"):
        await ask(client)
    with pytest.raises(Exception, match="peer closed"):
        client.models.generate_content(model="gemini-flash", contents="hi")

    assert len(gemini.requests_of("agent")) == 2


async def test_the_client_still_quotes_a_body_that_is_not_json(gemini: FakeGemini, client: genai.Client) -> None:
    """In the error of a stream, which ADK logs."""
    gemini.set_default("agent", Raw("a person's words"))
    with pytest.raises(errors.UnknownApiResponseError, match="a person's words"):
        async for _ in await client.aio.models.generate_content_stream(model="gemini-flash", contents="hi"):
            pass
    await client.aio.aclose()
