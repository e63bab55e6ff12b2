"""`gaia` with an additional model, `slow-PIECES-SECONDS`, that streams numbered pieces at that interval."""

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
    """Answers every message with the same pieces and the last message."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the pattern of the model's names."""
        return ["slow-.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the pieces, then all of them again, like Gemini."""
        _, pieces, seconds = self.model.split("-")
        # The notes of the turn stand before the words.
        said = str((llm_request.contents[-1].parts or [types.Part()])[0].text).rpartition("\n")[2]
        words = [f"piece{number} " for number in range(1, int(pieces) + 1)] + [f"answer to <{said}>"]
        for word in words:
            await asyncio.sleep(float(seconds))
            yield response_chunk(word, partial=True)
        yield response_chunk("".join(words), partial=False)


def response_chunk(text: str, *, partial: bool) -> LlmResponse:
    """Return a piece of the answer, or the whole answer."""
    counts = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=0, candidates_token_count=0, total_token_count=0
    )
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else counts)


if __name__ == "__main__":
    LLMRegistry.register(SlowModel)
    sys.argv[0] = "gaia"
    main()
