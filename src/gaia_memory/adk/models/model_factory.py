"""Builds the agent's model from the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_memory.config.api_keys import (
    MISSING_OPENAI_KEY,
    MISSING_OPENAI_KEY_REMEDY,
    can_reach_gemini,
    openai_api_key,
)
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from datetime import tzinfo

    from google.adk.models.base_llm import BaseLlm as BaseLlm

OFFLINE_NAME, AUTO_NAME = "offline", "auto"
OPENAI_CLASS = "OpenAILlm"
"""ADK's class, by its name, because its import takes half a second."""

_UNKNOWN_REMEDY = (
    "use `auto`, `offline`, a Gemini name, or `openai:NAME`, also for vLLM, LM Studio and Ollama. Claude needs "
    "`pip install anthropic`, and a name with a slash `pip install litellm mcp`"
)


def split_model_argument(value: str | BaseLlm | None) -> tuple[BaseLlm | None, str | None]:
    """Return an argument for a model as one of ADK's models, or as a name.

    Any other value counts as a name, so that the check of the configuration reports it.
    """
    if value is not None and not isinstance(value, str):
        # A caller with one of ADK's models has loaded ADK.
        from google.adk.models.base_llm import BaseLlm

        if isinstance(value, BaseLlm):
            return value, None
    return None, value


def build_model(name: str, zone: tzinfo | None = None) -> BaseLlm:
    """Return the ADK model for a configured name; `zone` is the one in which the offline model names days.

    `auto` is ADK's default Gemini if there is a key (`GEMINI_API_KEY`, `GOOGLE_API_KEY`) or Vertex AI with a project,
    otherwise the offline model; `offline` is the offline model; any other name goes to ADK's registry.

    Raises:
        ConfigError: ADK does not know the model, or a package or a key is missing.
    """
    if problem := find_model_problem(name):
        raise ConfigError([": ".join(problem)])
    if _is_offline(name):
        from gaia_memory.adk.models.offline_model import OfflineModel

        return OfflineModel(zone=zone)
    from google.adk.models.google_llm import Gemini

    model = _registered_model(name)
    if type(model) is Gemini:
        from gaia_memory.adk.models.gemini import build_gemini

        return build_gemini(model.model)
    if type(model).__name__ == OPENAI_CLASS:
        # The import of its client takes half a second, which other models should not cost.
        from gaia_memory.adk.models.openai import build_openai

        return build_openai(model.model)
    return model


def find_model_problem(name: str) -> tuple[str, str] | None:
    """Return why `build_model` cannot build the model of a configured name, and the remedy; None if it can."""
    if _is_offline(name):
        return None
    try:
        model = _registered_model(name)
    except (ImportError, ValueError):
        return f"model: {name!r} is a name that ADK does not know, or that needs a package", _UNKNOWN_REMEDY
    if type(model).__name__ != OPENAI_CLASS:
        return None
    if not model.model:
        return f"model: {name!r} names no model", "name one, such as `openai:gpt-5`"
    if not openai_api_key(os.environ):
        return f"model: {name!r} needs OpenAI's interface, and {MISSING_OPENAI_KEY}", MISSING_OPENAI_KEY_REMEDY
    return None


async def close_model(model: BaseLlm) -> None:
    """Close the client of a model from `build_model`; ADK leaves that to the caller."""
    from google.adk.models.google_llm import Gemini

    # Without access there is no client, and `api_client` would build one.
    if isinstance(model, Gemini) and can_reach_gemini(os.environ):
        await model.api_client.aio.aclose()
    elif (client := getattr(model, "client", None)) is not None:
        await client.close()


def _is_offline(name: str) -> bool:
    return name == OFFLINE_NAME or (name == AUTO_NAME and not can_reach_gemini(os.environ))


def _registered_model(name: str) -> BaseLlm:
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.registry import LLMRegistry

    return LLMRegistry.new_llm(LlmAgent.DEFAULT_MODEL if name == AUTO_NAME else name)
