"""Builds the agent's model from the configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_memory.config.api_keys import can_reach_gemini
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm as BaseLlm


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


def build_model(name: str) -> BaseLlm:
    """Return the ADK model for a configured name.

    `auto` is ADK's default Gemini if there is a key (`GEMINI_API_KEY`, `GOOGLE_API_KEY`) or Vertex AI with a project,
    otherwise the offline model; `offline` is the offline model; any other name goes to ADK's registry.

    Raises:
        ConfigError: ADK does not know the model, or a package or a key is missing.
    """
    if name == "offline" or (name == "auto" and not can_reach_gemini(os.environ)):
        from gaia_memory.adk.models.offline.offline_model import OfflineModel

        return OfflineModel()
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.google_llm import Gemini
    from google.adk.models.registry import LLMRegistry

    model_name = LlmAgent.DEFAULT_MODEL if name == "auto" else name
    try:
        model_class = LLMRegistry.resolve(model_name)
        if model_class is Gemini:
            from gaia_memory.adk.models.gemini import build_gemini

            return build_gemini(model_name)
        model = LLMRegistry.new_llm(model_name)
    except (ImportError, ValueError) as error:
        raise ConfigError([f"model is {name!r}, {_unknown_model_reason(name)}"]) from error
    if model_class.__name__ == "OpenAILlm":
        # The import of its client takes half a second, which other models should not cost.
        from gaia_memory.adk.models.openai import build_openai

        return build_openai(model.model)
    return model


async def close_model(model: BaseLlm) -> None:
    """Close the client of a model from `build_model`; ADK leaves that to the caller."""
    from google.adk.models.google_llm import Gemini

    # Without access there is no client, and `api_client` would build one.
    if isinstance(model, Gemini) and can_reach_gemini(os.environ):
        await model.api_client.aio.aclose()
    elif (client := getattr(model, "client", None)) is not None:
        await client.close()


def _unknown_model_reason(name: str) -> str:
    """Return why ADK has no model of that name, and the remedy."""
    if "/" in name:
        openai_name = f"openai:{name.rpartition('/')[2]}"
        return (
            "which needs LiteLLM: pip install litellm mcp. A server with OpenAI's "
            f"interface, such as vLLM, LM Studio or Ollama, needs no package: `model: {openai_name}`"
        )
    if name.startswith("claude"):
        return "which needs a package: pip install anthropic"
    return "which ADK does not know: use `auto`, `offline`, a Gemini name, `openai:NAME` or another one of ADK's"
