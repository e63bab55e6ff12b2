"""An ADK model without a network, which shows memory's tools at work: it searches, quotes, remembers and forgets."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.keyless.quotations import name_day
from gaia_memory.keyless.statements import is_question, split_sentences
from gaia_memory.language.stems import stem
from gaia_memory.language.stop_words import content_words
from gaia_memory.language.tokenizer import index_tokens, query_tokens
from gaia_memory.language.word_variants import word_variants

NOTED_REPLY = "Noted."
NOTHING_FOUND = "I find nothing about that in memory."
NOTHING_FORGOTTEN = "Nothing was forgotten: type /forget to choose what goes."
FORGOTTEN = "It is forgotten."
NO_SEARCH = "I have no tool that searches memory."

MAX_QUOTATIONS = 3

_COMMAND = re.compile(r"(?:please\s+)?(?:(remember)\s+that|(forget))\b[\s:,]*(\S.*)", re.IGNORECASE | re.DOTALL)
_SEARCHES = ("load_memory", "recall")
_TRANSFERRED_CONTEXT = "For context:"
"""How ADK begins a user content that holds what another agent said."""

_FOR_THE_MODEL = re.compile(r": tell the user\b.*", re.DOTALL)
_PIECE = re.compile(r"\S+\s*|\s+")

_Row = Mapping[str, Any]


class OfflineModel(BaseLlm):
    """Answers without a model, in English: the same request always gets the same answer.

    A message with a question mark is searched for and answered by quotation. "remember that …" and "forget …" call the
    tools. Nothing is answered that a tool has not returned. `zone` is the person's time zone; None is this machine's.
    """

    model: str = "offline"
    zone: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the answer; with `stream`, first its words as partial responses."""
        answer = _answer(llm_request, self.zone)
        if isinstance(answer, types.Part):
            yield _response(answer)
            return
        if stream:
            for piece in _PIECE.findall(answer):
                yield _response(types.Part(text=piece), partial=True)
        yield _response(types.Part(text=answer))


def _response(part: types.Part, *, partial: bool = False) -> LlmResponse:
    # ADK warns about every answer without token counts.
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=0, candidates_token_count=0, total_token_count=0
    )
    content = types.Content(role="model", parts=[part])
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else usage)


def _answer(request: LlmRequest, zone: tzinfo | None) -> str | types.Part:
    """Return the words that answer the person's last message, or the call of a tool that has to come first."""
    message = _last_message(request.contents)
    verb, about = _read_command(message)
    if responses := _last_responses(request.contents):
        return _describe(request, responses[-1], verb, about or message, zone)
    if verb == "remember" and (tool := _find_tool(request, "remember")):
        return _call(tool, fact=about)
    if verb == "forget" or any(map(is_question, split_sentences(message))):
        search = _find_tool(request, *_SEARCHES)
        return _call(search, query=about or message) if search else NO_SEARCH
    return NOTED_REPLY


def _describe(
    request: LlmRequest, response: types.FunctionResponse, verb: str, asked: str, zone: tzinfo | None
) -> str | types.Part:
    """Return what a tool answered, or after the search of a fact to forget the call that forgets it."""
    name, answer = response.name or "", response.response or {}
    if name.endswith("remember"):
        return _describe_remembered(answer)
    if name.endswith("forget_memory"):
        return FORGOTTEN if answer.get("status") == "success" else NOTHING_FORGOTTEN
    if answer.get("status") != "success":
        return f"I cannot look that up: {_reason(answer)}."
    rows = _fitting_rows(answer.get("memories") or (), asked)
    if verb != "forget" or not rows:
        return _quote(rows, zone)
    tool = _find_tool(request, "forget_memory")
    return _call(tool, id=rows[0]["id"]) if tool and "id" in rows[0] else NOTHING_FORGOTTEN


def _read_command(message: str) -> tuple[str, str]:
    """Return `remember` or `forget` and what about, if a message asks for that; else two empty texts."""
    found = None if is_question(message) else _COMMAND.fullmatch(message)
    return ((found[1] or found[2]).lower(), found[3].strip()) if found and index_tokens(found[3]) else ("", "")


def _find_tool(request: LlmRequest, *names: str) -> str | None:
    """Return the first of these tools that the agent has, by its name there, which may have a prefix."""
    found = (given for name in names for given in request.tools_dict if f"_{given}".endswith(f"_{name}"))
    return next(found, None)


def _call(tool: str, **arguments: str) -> types.Part:
    return types.Part.from_function_call(name=tool, args=arguments)


def _describe_remembered(answer: Mapping[str, Any]) -> str:
    if answer.get("status") == "success":
        return f"I will remember: {answer.get('text', '')}"
    if answer.get("status") == "confirmation_required":
        return f'Say yes, and I will remember: "{answer.get("text", "")}"'
    return f"That was not saved: {_reason(answer)}."


def _reason(answer: Mapping[str, Any]) -> str:
    """Return why a tool did nothing, without what it says to the model alone."""
    return _FOR_THE_MODEL.sub("", str(answer.get("message") or "memory did not answer"))


def _fitting_rows(rows: Sequence[_Row], asked: str) -> list[_Row]:
    """Return the first of the rows with a word of a question, in whatever form.

    Recall fills its list up with what fits less, for models that read it.
    """
    words = (form for word in content_words(asked) for form in (word, *word_variants(word)))
    stems = {stem(token) for word in words for token in query_tokens(word)}
    fitting = (row for row in rows if not stems.isdisjoint(map(stem, index_tokens(str(row.get("text", ""))))))
    return list(islice(fitting, MAX_QUOTATIONS))


def _quote(rows: Sequence[_Row], zone: tzinfo | None) -> str:
    """Return rows as quotations, the newest first."""
    said = [(datetime.fromisoformat(row["timestamp"]).astimezone(zone), row["text"]) for row in rows]
    today = datetime.now(zone).date()
    said.sort(key=lambda each: each[0], reverse=True)
    lines = [f'On {name_day(moment.date(), today)} you said: "{text}"' for moment, text in said]
    return "\n".join(lines) or NOTHING_FOUND


def _last_message(contents: Sequence[types.Content]) -> str:
    """Return the words of the person's last message."""
    for content in reversed(contents):
        text = " ".join(part.text for part in content.parts or [] if part.text and not part.thought)
        if content.role == "user" and text.strip() and not text.startswith(_TRANSFERRED_CONTEXT):
            return without_notes(text).strip()
    return ""


def _last_responses(contents: Sequence[types.Content]) -> list[types.FunctionResponse]:
    """Return the responses that a request ends with."""
    parts = contents[-1].parts or [] if contents else []
    return [part.function_response for part in parts if part.function_response]
