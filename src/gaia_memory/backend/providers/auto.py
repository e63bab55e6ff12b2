"""The provider `auto` for mem0's factories, for hosts that build mem0 from the same configuration."""

from __future__ import annotations

import os
from typing import Any

from gaia_memory.backend.providers.provider_specs import DEFAULT_APP_MODEL, gemini_api_key


def auto_llm(config: Any = None) -> Any:
    """Return Gemini's language model if its key is set, otherwise the offline one."""
    if gemini_api_key(os.environ):
        from gaia_memory.backend.providers.gemini import gemini_llm

        return gemini_llm({"model": getattr(config, "model", None) or DEFAULT_APP_MODEL})
    from gaia_memory.backend.offline.offline_llm import OfflineLlm

    return OfflineLlm(config)


def auto_embedder(config: Any) -> Any:
    """Return Gemini's embedder if its key is set, otherwise the offline one."""
    if gemini_api_key(os.environ):
        from gaia_memory.backend.providers.gemini import GeminiEmbedder

        return GeminiEmbedder(config)
    from gaia_memory.backend.offline.offline_embedder import OfflineEmbedder

    return OfflineEmbedder(config)
