"""Answers without a model: fixed rules for the two prompts of memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gaia_memory.backend.offline import rule_profile

UNSUPPORTED_ANSWER = (
    "I am the offline model of gaia-memory: I follow fixed rules and cannot answer this. "
    "Set GEMINI_API_KEY, or name a provider under `memory.llm` in gaia.yaml."
)


class OfflineLlm:
    """A language model with mem0's interface for two prompts: mem0's extraction and our profile.

    It reads only the user's messages, sentence by sentence. It keeps statements and drops questions, requests, guesses
    and small talk. English, German, French and Spanish statements are put into the third person, those in other
    languages are kept word for word. It infers nothing and learns nothing from the assistant's answers.
    """

    def __init__(self, config: Any = None) -> None:
        """Accept mem0's `BaseLlmConfig` and ignore it."""
        self.config = config

    def generate_response(
        self,
        messages: Sequence[dict[str, str]],
        response_format: Any = None,
        tools: Any = None,
        tool_choice: str = "auto",
        **ignored: Any,
    ) -> str:
        """Return JSON for mem0's extraction prompt, or bullet lines for a list of facts."""
        # The tables of four languages take 0.1 s to read, which no start-up should wait for.
        from gaia_memory.backend.offline import rule_extraction

        prompt = "\n\n".join(str(message.get("content") or "") for message in messages if message["role"] != "system")
        if rule_extraction.is_extraction_prompt(prompt):
            facts = rule_extraction.extract_facts(prompt)
            memory = [_entry(number, fact) for number, fact in enumerate(facts)]
            return json.dumps({"memory": memory}, ensure_ascii=False)
        if rule_profile.is_profile_prompt(prompt):
            return rule_profile.rank_as_bullets("\n".join(str(message.get("content") or "") for message in messages))
        return UNSUPPORTED_ANSWER


def _entry(number: int, fact: str) -> dict[str, str]:
    from gaia_memory.backend.offline import categories

    entry = {"id": str(number), "text": fact, "attributed_to": "user"}
    category = categories.category_of(fact)
    return {**entry, "category": category} if category else entry
