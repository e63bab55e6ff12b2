"""Learns from a conversation without a model."""

from __future__ import annotations

from gaia_memory.keyless.statements import find_statements
from gaia_memory.models import Chunk, ExtractedFact
from gaia_memory.ports import AnswerCheck

EXTRACTOR = "offline/sentences-1"
"""Stored with each fact that it learned."""


class KeylessExtractor:
    """The port `Extractor` without a model: each sentence that a person stated is a fact, as written.

    Nothing is put into other words, dated, sorted or concluded, and nothing is learned from the assistant's answers.
    """

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the statements of a chunk, each once; nothing in the person's own words needs `check`."""
        found: dict[str, ExtractedFact] = {}
        for message in chunk.messages:
            for text in find_statements(message.text) if message.role == "user" else ():
                fact = ExtractedFact(text=text, attributed_to=message.speaker or "user", extractor=EXTRACTOR)
                found.setdefault(text.casefold(), fact)
        return list(found.values())
