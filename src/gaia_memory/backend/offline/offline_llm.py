"""Answers without a model: fixed rules for the two questions memory asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gaia_memory.backend.offline import rule_extraction, rule_profile

UNSUPPORTED_ANSWER = (
    "I am the offline model of gaia-memory: I follow fixed rules and cannot answer this. "
    "Set GEMINI_API_KEY, or name a provider under `memory.llm` in gaia.yaml."
)


class OfflineLlm:
    """A language model in the form mem0 uses, for two prompts: mem0's extraction and our profile.

    It reads only what the person said, sentence by sentence, keeps statements and drops questions, orders and
    small talk. English statements about oneself are turned into the third person; other languages are kept
    word for word. It infers nothing, joins nothing over sentences, and learns nothing from answers.
    """

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseLlmConfig`; nothing in it matters here."""
        self.config = config

    def generate_response(
        self,
        messages: Sequence[dict[str, str]],
        response_format: Any = None,
        tools: Any = None,
        tool_choice: str = "auto",
        **ignored: Any,
    ) -> str:
        """Return the answer: JSON to mem0's extraction prompt, bullet lines to a list of facts."""
        prompt = "\n\n".join(str(message.get("content") or "") for message in messages if message["role"] != "system")
        if rule_extraction.is_extraction_prompt(prompt):
            facts = rule_extraction.extract_facts(prompt)
            memory = [{"id": str(n), "text": fact, "attributed_to": "user"} for n, fact in enumerate(facts)]
            return json.dumps({"memory": memory}, ensure_ascii=False)
        if rule_profile.is_profile_prompt(prompt):
            return rule_profile.rank_as_bullets("\n".join(str(message.get("content") or "") for message in messages))
        return UNSUPPORTED_ANSWER
