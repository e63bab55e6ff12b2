"""ADK's Gemini with time-outs and retries: a user is waiting."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from google.genai.errors import UnknownApiResponseError
from pydantic import ValidationError
from tenacity import AsyncRetrying

from gaia_memory import model_calls
from gaia_memory.config.api_keys import gemini_client_arguments, uses_vertex
from gaia_memory.model_calls import retry_policy


class GeminiWithTimeouts(Gemini):
    """Retries transient failures, keeps the pause that Gemini names, and gives up in time.

    There is no retry after the first piece of an answer, after a time-out, or when Gemini names a pause that is too
    long for a user. The error for an unreadable answer does not quote it, because ADK logs the error.
    """

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield Gemini's responses.

        Raises:
            TimeoutError: there was no answer, or no further piece of it, in time.
            google.genai.errors.APIError: Gemini refused the last attempt.
            google.genai.errors.UnknownApiResponseError: the answer is not one of Gemini's.
        """
        response, remaining = await self._first_response(llm_request, stream)
        async with aclosing(remaining):
            while response is not None:
                yield response
                response = await _next_response(remaining)

    async def _first_response(
        self, request: LlmRequest, stream: bool
    ) -> tuple[LlmResponse | None, AsyncGenerator[LlmResponse, None]]:
        """Return the first response, or None, and the stream of the others."""
        # ADK moves parts of a request into its cache while it sends it.
        contents, config = list(request.contents), request.config.model_copy()
        async for attempt in AsyncRetrying(**retry_policy(model_calls.AGENT)):
            with attempt:
                if attempt.retry_state.attempt_number > 1:
                    request.contents, request.config = list(contents), config.model_copy()
                responses = super().generate_content_async(request, stream)
                return await _next_response(responses), responses
        raise AssertionError("the last attempt returns or raises")


def build_gemini(name: str) -> GeminiWithTimeouts:
    """Return Gemini by its name. Its client asks once, because it ignores named pauses and retries for too long.

    The client is built when the model is first asked; only then a missing key is an error.
    """
    options = types.HttpOptions(timeout=int(model_calls.AGENT_STREAM_SECONDS * 1000))
    no_retry = types.HttpRetryOptions(attempts=1)
    # By itself ADK would ignore GOOGLE_VERTEX_BASE_URL.
    vertex_arguments = gemini_client_arguments(os.environ) if uses_vertex(os.environ) else {}
    client_arguments = {"http_options": options, **vertex_arguments}
    return GeminiWithTimeouts(model=name, retry_options=no_retry, client_kwargs=client_arguments)


async def _next_response(responses: AsyncGenerator[LlmResponse, None]) -> LlmResponse | None:
    try:
        async with asyncio.timeout(model_calls.AGENT.timeout_seconds):
            return await anext(responses, None)
    except (json.JSONDecodeError, UnknownApiResponseError, ValidationError):
        raise UnknownApiResponseError("the answer is not one of Gemini's") from None
