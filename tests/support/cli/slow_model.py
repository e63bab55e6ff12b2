"""`gaia` with one more model, `slow-PIECES-SECONDS`: it streams numbered pieces, so many seconds apart."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from gaia_memory.cli import main


class SlowModel(BaseLlm):
    """Answers every message alike, with what was said at the end."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return what names this model."""
        return ["slow-.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the pieces, and then all of them again, as Gemini does."""
        _, pieces, seconds = self.model.split("-")
        said = str((llm_request.contents[-1].parts or [types.Part()])[0].text)
        words = [f"piece{number} " for number in range(1, int(pieces) + 1)] + [f"answer to <{said}>"]
        for word in words:
            await asyncio.sleep(float(seconds))
            yield response_chunk(word, partial=True)
        yield response_chunk("".join(words), partial=False)


def response_chunk(text: str, *, partial: bool) -> LlmResponse:
    """Return a piece of the answer, or all of it."""
    counts = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=0, candidates_token_count=0, total_token_count=0
    )
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else counts)


if __name__ == "__main__":
    LLMRegistry.register(SlowModel)
    sys.argv[0] = "gaia"
    main()
