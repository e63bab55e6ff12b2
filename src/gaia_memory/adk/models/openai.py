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
from gaia_memory.config.api_keys import openai_api_key, openai_base_url
from gaia_memory.errors import BadAnswerError


class OpenAIWithTimeLimit(OpenAILlm):
    """Ends an answer that takes too long as a whole: some models stream nonsense without an end."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the responses of the model.

        Raises:
            TimeoutError: there was no answer in time.
            BadAnswerError: there was one without an end.
        """
        deadline = asyncio.get_running_loop().time() + model_calls.AGENT_STREAM_SECONDS
        said = ""
        async with aclosing(super().generate_content_async(llm_request, stream)) as responses:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        response = await anext(responses, None)
                except TimeoutError:
                    if not said:
                        raise
                    break
                if response is None:
                    return
                said += "".join(part.text or "" for part in (response.content and response.content.parts) or ())
                yield response
        # Not while the time-out is handled: it would count as an outage.
        raise BadAnswerError(model_calls.REPETITION if model_calls.repeats_itself(said) else model_calls.ENDLESS)


def build_openai(name: str) -> OpenAIWithTimeLimit:
    """Return a model by its name, on the server that the environment names, else OpenAI's.

    There is a key or a server. It gives up in time, where ADK's own waits ten minutes.
    """
    limits = model_calls.OWN_SERVER_AGENT if openai_base_url(os.environ) else model_calls.OPENAI_AGENT
    client = AsyncOpenAI(
        api_key=openai_api_key(os.environ), timeout=limits.timeout_seconds, max_retries=limits.max_attempts - 1
    )
    return OpenAIWithTimeLimit(model=name, client=client)
