"""Stands in for a language model where mem0 wants one."""

from __future__ import annotations

from typing import Any

from gaia_memory.errors import ModelUnavailableError


class NoModel:
    """What mem0 builds for `offline` and `agent`; memory asks it nothing."""

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseLlmConfig`."""
        self.config = config

    def generate_response(self, messages: Any, **options: Any) -> str:
        """Refuse a question.

        Raises:
            ModelUnavailableError: always.
        """
        raise ModelUnavailableError(
            "memory has no model to ask: set GEMINI_API_KEY, or name a provider under `memory.llm` in gaia.yaml"
        )
