"""ADK's model for OpenAI and compatible servers, with time-outs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.integrations.openai import OpenAILlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from openai import AsyncOpenAI

from gaia_memory import model_calls
from gaia_memory.config.openai_server import MISSING_KEY_MESSAGE, api_key, base_url
from gaia_memory.errors import ConfigError


class OpenAIWithTimeouts(OpenAILlm):
    """Gives up in time, where ADK's own waits ten minutes, and needs no key for a self-hosted server."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's responses.

        Raises:
            openai.APIError: the server could not be reached, or refused the request.
        """
        if self.client is None:
            # Building a client reads certificates from the disk.
            self.client = await asyncio.to_thread(_build_client)
        async with aclosing(super().generate_content_async(llm_request, stream)) as responses:
            async for response in responses:
                yield response

    async def aclose(self) -> None:
        """Close the client, if one was built."""
        if self.client is not None:
            await self.client.close()
            self.client = None


def build_openai(name: str) -> OpenAIWithTimeouts:
    """Return a model by its name, on the server that the environment names, else OpenAI's.

    Raises:
        ConfigError: there is neither a key nor a server.
    """
    if not api_key(os.environ):
        raise ConfigError([f"model: {name!r} needs OpenAI's interface: {MISSING_KEY_MESSAGE}"])
    return OpenAIWithTimeouts(model=name)


def _build_client() -> AsyncOpenAI:
    limits = model_calls.OWN_SERVER_AGENT if base_url(os.environ) else model_calls.OPENAI_AGENT
    return AsyncOpenAI(api_key=api_key(os.environ), timeout=limits.timeout_seconds, max_retries=limits.max_attempts - 1)
