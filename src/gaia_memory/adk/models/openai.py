"""ADK's model for OpenAI and compatible servers, with time-outs."""

from __future__ import annotations

import os

from google.adk.integrations.openai import OpenAILlm
from openai import AsyncOpenAI

from gaia_memory import model_calls
from gaia_memory.config.api_keys import MISSING_OPENAI_KEY, openai_api_key, openai_base_url
from gaia_memory.errors import ConfigError


def build_openai(name: str) -> OpenAILlm:
    """Return a model by its name, on the server that the environment names, else OpenAI's.

    It gives up in time, where ADK's own waits ten minutes, and needs no key for a self-hosted server.

    Raises:
        ConfigError: there is neither a key nor a server.
    """
    key = openai_api_key(os.environ)
    if not key:
        raise ConfigError([f"model: {name!r} needs OpenAI's interface: {MISSING_OPENAI_KEY}"])
    limits = model_calls.OWN_SERVER_AGENT if openai_base_url(os.environ) else model_calls.OPENAI_AGENT
    client = AsyncOpenAI(api_key=key, timeout=limits.timeout_seconds, max_retries=limits.max_attempts - 1)
    return OpenAILlm(model=name, client=client)
