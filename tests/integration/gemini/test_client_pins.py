"""What google-genai's own retries do not do, which is why ours stand in their place: look again when one fails."""

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
    """Return a client that repeats what it can, at once."""
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.01, jitter=0.0)
    with genai.Client(http_options=types.HttpOptions(timeout=5_000, retry_options=retry)) as made:
        yield made


async def ask(client: genai.Client) -> None:
    """Ask as ADK does."""
    try:
        await client.aio.models.generate_content(model="gemini-flash", contents="hi")
    finally:
        await client.aio.aclose()


async def test_it_reads_no_pause_that_gemini_names(gemini: FakeGemini, client: genai.Client) -> None:
    """Neither from the header nor from the body: it was to come back in a minute."""
    gemini.set_default("agent", Failure(429, 60))
    with pytest.raises(errors.ClientError):
        await ask(client)
    times = [request.at for request in gemini.requests_of("agent")]

    assert len(times) == 3
    assert times[-1] - times[0] < 5


async def test_it_does_not_repeat_what_breaks_in_the_body(gemini: FakeGemini, client: genai.Client) -> None:
    """Through aiohttp, which ADK's model uses, and through httpx, which mem0's does."""
    gemini.set_default("agent", Drop("body"))
    with pytest.raises(Exception, match=r"not completed|without sending complete|peer closed"):
        await ask(client)
    with pytest.raises(Exception, match="peer closed"):
        client.models.generate_content(model="gemini-flash", contents="hi")

    assert len(gemini.requests_of("agent")) == 2


async def test_it_quotes_a_body_that_is_no_json(gemini: FakeGemini, client: genai.Client) -> None:
    """In the error of a stream, which ADK logs."""
    gemini.set_default("agent", Raw("a person's words"))
    with pytest.raises(errors.UnknownApiResponseError, match="a person's words"):
        async for _ in await client.aio.models.generate_content_stream(model="gemini-flash", contents="hi"):
            pass
    await client.aio.aclose()
