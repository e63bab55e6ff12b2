"""An ADK model without a network that remembers, recalls and says that it is offline."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory.language.stop_words import STOP_WORDS

INTRODUCTION = (
    "I am the offline model: I can remember what you tell me and look it up again, and not much more. "
    "With GEMINI_API_KEY set, Gemini answers instead."
)

_REMEMBER_PATTERN = re.compile(
    r"(?:please\s+|can you\s+|could you\s+)?"
    r"(?:remember|keep in mind|make a note|note|don'?t forget)"
    r"(?:\s+that\b|\s*[:,])?\s+(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(
    r"(?:what|who|whom|whose|where|when|which|why|how|do|does|did|am|is|are|was|were|can|could|should|would|will|"
    r"have|has|tell me|remind me)\b",
    re.IGNORECASE,
)
_SELF_QUESTION = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:offline|real|ai|bot|model|gemini)\b|\b(?:which|what) model\b",
    re.IGNORECASE,
)
_PROFILE_BLOCK = re.compile(r"<USER_PROFILE>(.*?)</USER_PROFILE>", re.DOTALL)
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\S+\s*|\s+")
_UNSPECIFIC_WORDS = STOP_WORDS | {"can", "know", "mine", "remember", "user", "will"}


class OfflineModel(BaseLlm):
    """Answers by fixed rules: the same request always gets the same answer.

    "Remember that …" calls `remember`. It answers a question from the profile if possible, otherwise with
    `load_memory`, and acknowledges a statement. Its first answer in a conversation, and the answer to any question
    about itself, says that it is the offline model.
    """

    model: str = "offline"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the answer; with `stream`, first its words as partial responses."""
        answer = _answer(llm_request)
        if isinstance(answer, types.Part):
            yield _response(answer, partial=False)
            return
        if stream:
            for piece in _PIECE.findall(answer):
                yield _response(types.Part(text=piece), partial=True)
        yield _response(types.Part(text=answer), partial=False)


def _response(part: types.Part, *, partial: bool) -> LlmResponse:
    # ADK warns about every answer without token counts.
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=0, candidates_token_count=0, total_token_count=0
    )
    content = types.Content(role="model", parts=[part])
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else usage)


def _answer(request: LlmRequest) -> str | types.Part:
    responses = _responses(request.contents)
    if responses:
        return _with_introduction(request, "\n".join(_describe_response(response) for response in responses))
    text = _last_user_text(request.contents)
    if _SELF_QUESTION.search(text):
        return INTRODUCTION
    remember_match = _REMEMBER_PATTERN.fullmatch(text)
    if remember_match and not text.endswith("?") and "remember" in request.tools_dict:
        return types.Part.from_function_call(name="remember", args={"fact": remember_match["fact"].strip()})
    if text.endswith("?") or _QUESTION.match(text):
        return _answer_from_memory(request, text)
    return _with_introduction(request, "Noted.")


def _answer_from_memory(request: LlmRequest, question: str) -> str | types.Part:
    question_words = _content_words(question)
    # "What do you know about me?" has no content words: every line matches.
    matching_lines = [
        line for line in _profile_lines(request) if not question_words or question_words & _content_words(line)
    ]
    if matching_lines:
        return _with_introduction(request, _bullet_list("From what I know about you:", matching_lines))
    if "load_memory" in request.tools_dict:
        return types.Part.from_function_call(name="load_memory", args={"query": question})
    return _with_introduction(request, "I cannot answer that.")


def _describe_response(response: types.FunctionResponse) -> str:
    answer: Mapping[str, Any] = response.response or {}
    status = answer.get("status")
    if response.name == "remember":
        if status == "success":
            return f"I will remember: {answer.get('text', '')}"
        return f"I did not save that: {answer.get('message', 'memory did not take it')}."
    if response.name == "load_memory":
        if status == "unavailable":
            return "My memory cannot answer right now."
        if status == "error":
            return f"I could not look that up: {answer.get('message', 'memory did not answer')}."
        memories = [str(memory.get("text", "")) for memory in answer.get("memories") or []]
        return _bullet_list("I remember:", memories) if memories else "I don't remember anything about that."
    return "Done."


def _bullet_list(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"- {line}" for line in lines)])


def _with_introduction(request: LlmRequest, text: str) -> str:
    """Prepend the introduction to the first answer of a conversation."""
    is_introduced = any(
        INTRODUCTION in (part.text or "") for content in request.contents for part in content.parts or []
    )
    return text if is_introduced else f"{INTRODUCTION}\n{text}"


def _responses(contents: Sequence[types.Content]) -> list[types.FunctionResponse]:
    parts = (contents[-1].parts if contents else None) or []
    return [part.function_response for part in parts if part.function_response]


def _last_user_text(contents: Sequence[types.Content]) -> str:
    for content in reversed(contents):
        texts = [part.text for part in content.parts or [] if part.text and not part.thought]
        if content.role == "user" and texts:
            return " ".join(texts).strip()
    return ""


def _profile_lines(request: LlmRequest) -> list[str]:
    system = request.config.system_instruction
    block = _PROFILE_BLOCK.search(system) if isinstance(system, str) else None
    lines = block[1].splitlines() if block else []
    return [line[2:].strip() for line in lines if line.startswith("- ")]


def _content_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in _UNSPECIFIC_WORDS}
