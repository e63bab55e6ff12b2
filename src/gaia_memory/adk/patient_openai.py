"""Models that ADK asks through OpenAI's interface, made patient: OpenAI's own, and those of a server of one's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_memory.config.openai import OWN_RETRIES, OWN_SECONDS, WITHOUT_KEY, api_key, server
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm

SECONDS = 60.0
RETRIES = 3
_ADKS = "google.adk.integrations.openai"


def patient_openai(model: BaseLlm) -> BaseLlm:
    """Return `model`; where it asks through OpenAI's interface, with a client that gives up in time.

    ADK's own waits ten minutes a try, and refuses to be made without a key that most servers of one's own do not ask
    for.

    Raises:
        ConfigError: there is neither a key nor a server.
    """
    if not type(model).__module__.startswith(_ADKS):
        # Importing the client takes half a second, which no other model should cost.
        return model
    from google.adk.integrations.openai import OpenAILlm
    from openai import AsyncOpenAI

    assert isinstance(model, OpenAILlm)

    key, own = api_key(os.environ), bool(server(os.environ))
    if not key:
        raise ConfigError([f"model is {model.model!r}, which is asked through OpenAI's interface: {WITHOUT_KEY}"])
    model.client = AsyncOpenAI(
        api_key=key, timeout=OWN_SECONDS if own else SECONDS, max_retries=OWN_RETRIES if own else RETRIES
    )
    return model


async def close_openai(model: BaseLlm) -> None:
    """Close the client that `patient_openai` made."""
    client = getattr(model, "client", None)
    if type(model).__module__.startswith(_ADKS) and client is not None:
        await client.close()
