"""ADK's model over OpenAI's interface with an end to every wait: OpenAI's own, or one on a server of one's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.integrations.openai import OpenAILlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from openai import AsyncOpenAI

from gaia_memory.config.openai_server import MISSING_KEY_MESSAGE, OWN_SERVER_TIMEOUT_SECONDS, api_key, base_url
from gaia_memory.errors import ConfigError

RESPONSE_TIMEOUT_SECONDS = 60.0
"""How long OpenAI may take for an answer, or for the next piece of a streamed one."""

MAX_RETRIES = 1
"""OpenAI is asked again once after what may pass; a server of one's own is not: it is as busy or as gone as before."""


class OpenAIWithTimeouts(OpenAILlm):
    """Gives up in time, where ADK's own waits ten minutes a try, and needs no key for a server of one's own."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the model answers.

        Raises:
            openai.APIError: it could not be reached, or refused.
        """
        if self.client is None:
            # It reads certificates from the disk.
            self.client = await asyncio.to_thread(_build_client)
        async with aclosing(super().generate_content_async(llm_request, stream)) as responses:
            async for response in responses:
                yield response

    async def aclose(self) -> None:
        """Close the client, if one was made."""
        if self.client is not None:
            await self.client.close()
            self.client = None


def build_openai(name: str) -> OpenAIWithTimeouts:
    """Return the model of a name, on the server that the environment names, else OpenAI's.

    Raises:
        ConfigError: there is neither a key nor a server.
    """
    if not api_key(os.environ):
        raise ConfigError([f"model: {name!r} is asked through OpenAI's interface: {MISSING_KEY_MESSAGE}"])
    return OpenAIWithTimeouts(model=name)


def _build_client() -> AsyncOpenAI:
    is_own_server = bool(base_url(os.environ))
    return AsyncOpenAI(
        api_key=api_key(os.environ),
        timeout=OWN_SERVER_TIMEOUT_SECONDS if is_own_server else RESPONSE_TIMEOUT_SECONDS,
        max_retries=0 if is_own_server else MAX_RETRIES,
    )
