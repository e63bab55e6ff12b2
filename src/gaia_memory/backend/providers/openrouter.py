"""Keeps a variable of another service from redirecting the provider `openai`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gaia_memory.log import logger_for

logger = logger_for(__name__)

KEY_VARIABLE = "OPENROUTER_API_KEY"
_OPENROUTER_OPTIONS = ("openrouter_base_url", "models", "site_url", "app_name")


def is_redirect_active() -> bool:
    """Say whether mem0 sends what is meant for OpenAI to OpenRouter: it does wherever that key is set."""
    return bool(os.environ.get(KEY_VARIABLE))


def is_allowed(config: Mapping[str, Any], *, has_alternative: bool) -> bool:
    """Say whether OpenRouter may have what is asked, where mem0 redirects to it.

    A configuration that names a key of OpenRouter's wants it. Without one, and with nothing to go to `has_alternative`,
    it is left to OpenRouter too, and a warning says so.
    """
    if any(config.get(key) for key in _OPENROUTER_OPTIONS):
        return True
    if not has_alternative:
        logger.warning(
            "memory.llm.provider is openai, %s is set and OPENAI_API_KEY is not: what is learned is asked of "
            "OpenRouter. Set OPENAI_API_KEY, or memory.llm.openrouter_base_url to say that this is wanted.",
            KEY_VARIABLE,
        )
    return not has_alternative


def restore_openai_client(llm: Any, *, key: str, base_url: str) -> None:
    """Give mem0's OpenAI model, which was redirected, the client it should have."""
    client_class = type(llm.client)
    llm.client.close()
    llm.client = client_class(api_key=key, base_url=base_url)
