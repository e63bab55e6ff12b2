"""ADK's Gemini with an end to every wait: a person is on the other side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from google.genai.errors import UnknownApiResponseError
from pydantic import ValidationError
from tenacity import AsyncRetrying

from gaia_memory.outage import retry_policy

RESPONSE_TIMEOUT_SECONDS = 60.0
"""How long an answer, or the next piece of a streamed one, may take."""

STREAM_TIMEOUT_SECONDS = 300.0
"""How long a streamed answer may take as a whole."""

MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 4.0
JITTER_SECONDS = 1.0
RETRY_WINDOW_SECONDS = 15.0
"""No try begins later after the first: with the time for its answer, a question takes 75 seconds at most."""


class GeminiWithTimeouts(Gemini):
    """Asks again what may pass, keeps the pause that Gemini names, and gives up in time.

    Nothing is asked again once a piece of the answer is out, after a time-out, or where Gemini wants a longer pause
    than a person waits. An answer that cannot be read is not quoted in the error, which ADK logs.
    """

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield what Gemini answers.

        Raises:
            TimeoutError: there was no answer, or no further piece of it, in time.
            google.genai.errors.APIError: Gemini refused, also when it was asked again.
            google.genai.errors.UnknownApiResponseError: what came is no answer of Gemini.
        """
        response, remaining = await self._first_response(llm_request, stream)
        async with aclosing(remaining):
            while response is not None:
                yield response
                response = await _next_response(remaining)

    async def _first_response(
        self, request: LlmRequest, stream: bool
    ) -> tuple[LlmResponse | None, AsyncGenerator[LlmResponse, None]]:
        """Return the first response, None where there is none, and the others."""
        # ADK moves parts of a request into its cache while it asks.
        contents, config = list(request.contents), request.config.model_copy()
        async for attempt in AsyncRetrying(**_retry_policy()):
            with attempt:
                if attempt.retry_state.attempt_number > 1:
                    request.contents, request.config = list(contents), config.model_copy()
                responses = super().generate_content_async(request, stream)
                return await _next_response(responses), responses
        raise AssertionError("the last attempt returns or raises")


def build_gemini(name: str) -> GeminiWithTimeouts:
    """Return Gemini by its name; the client is left to ask once, because it knows no named pauses and no end."""
    options = types.HttpOptions(timeout=int(STREAM_TIMEOUT_SECONDS * 1000))
    no_retry = types.HttpRetryOptions(attempts=1)
    return GeminiWithTimeouts(model=name, retry_options=no_retry, client_kwargs={"http_options": options})


def _retry_policy() -> dict[str, Any]:
    return retry_policy(
        max_attempts=MAX_ATTEMPTS,
        initial_seconds=FIRST_PAUSE_SECONDS,
        max_seconds=MAX_PAUSE_SECONDS,
        jitter_seconds=JITTER_SECONDS,
        window_seconds=RETRY_WINDOW_SECONDS,
    )


async def _next_response(responses: AsyncGenerator[LlmResponse, None]) -> LlmResponse | None:
    try:
        async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
            return await anext(responses, None)
    except (json.JSONDecodeError, UnknownApiResponseError, ValidationError):
        raise UnknownApiResponseError("what came is no answer of Gemini") from None
