"""Keeps a variable of another service from redirecting the provider `openai`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger(__name__)

VARIABLE = "OPENROUTER_API_KEY"
_ASKS_FOR_IT = ("openrouter_base_url", "models", "site_url", "app_name")
_OPENAI = "https://api.openai.com/v1"


def keep_openai(llm: Any, config: Mapping[str, Any]) -> None:
    """Point mem0's OpenAI model back at OpenAI.

    mem0 sends everything to OpenRouter as soon as `OPENROUTER_API_KEY` is in the environment, whatever it is
    there for. A configuration that names a key of OpenRouter's keeps it; without any OpenAI key there is
    nothing to point back to, and a warning says where the talk goes.
    """
    if not os.environ.get(VARIABLE) or any(config.get(key) for key in _ASKS_FOR_IT):
        return
    base_url = config.get("openai_base_url") or os.environ.get("OPENAI_BASE_URL")
    key = config.get("api_key") or os.environ.get("OPENAI_API_KEY")
    if not key:
        logger.warning(
            "memory.llm.provider is openai, %s is set and OPENAI_API_KEY is not: what is learned is asked of "
            "OpenRouter. Set OPENAI_API_KEY, or memory.llm.openrouter_base_url to say that this is wanted.",
            VARIABLE,
        )
        return
    make = type(llm.client)
    llm.client.close()
    llm.client = make(api_key=key, base_url=base_url or _OPENAI)
