"""The agent's model, from the configuration alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm as BaseLlm

GEMINI_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
TIMEOUT_MILLISECONDS = 60_000
ATTEMPTS = 4


def given_model(value: str | BaseLlm | None) -> tuple[BaseLlm | None, str | None]:
    """Return what stands for a model as one of ADK's models, or else as a name.

    Whatever is neither is left to the check of the configuration, which names it.
    """
    from google.adk.models.base_llm import BaseLlm

    return (value, None) if isinstance(value, BaseLlm) else (None, value)


def build_model(name: str) -> BaseLlm:
    """Return the ADK model for a configured name.

    `auto` is ADK's default Gemini when `GEMINI_API_KEY` or `GOOGLE_API_KEY` is set and not empty, else the
    offline model; `offline` is the offline model; any other name goes to ADK's registry.

    Raises:
        ConfigError: ADK knows no model of that name.
    """
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.registry import LLMRegistry

    from gaia_memory.adk.offline_model import OfflineModel

    if name == "offline" or (name == "auto" and not has_gemini_key()):
        return OfflineModel()
    wanted = LlmAgent.DEFAULT_MODEL if name == "auto" else name
    if wanted.startswith("gemini"):
        return _gemini(wanted)
    try:
        return LLMRegistry.new_llm(wanted)
    except ValueError as error:
        problem = f"model is {name!r}, which ADK does not know: use `auto`, `offline`, a Gemini name or one of ADK's"
        raise ConfigError([problem]) from error


async def close_model(model: BaseLlm) -> None:
    """Close the client that a model of `build_model` opened, which ADK leaves to whoever made the model."""
    from google.adk.models.google_llm import Gemini

    # Without a key there is no client, and asking for one would make it.
    if isinstance(model, Gemini) and has_gemini_key():
        await model.api_client.aio.aclose()


def has_gemini_key() -> bool:
    """Say whether the environment holds a key for Gemini."""
    return any(os.environ.get(key, "").strip() for key in GEMINI_KEYS)


def _gemini(name: str) -> BaseLlm:
    from google.adk.models.google_llm import Gemini
    from google.genai import types

    return Gemini(
        model=name,
        retry_options=types.HttpRetryOptions(attempts=ATTEMPTS),
        client_kwargs={"http_options": types.HttpOptions(timeout=TIMEOUT_MILLISECONDS)},
    )
