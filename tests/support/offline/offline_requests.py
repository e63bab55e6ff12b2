"""Requests to the offline model whose answers a test reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory.adk.models.offline_model import INTRODUCTION, OfflineModel
from gaia_memory.adk.models.user_messages import MessageKind, classify

if TYPE_CHECKING:
    from support.offline.offline_conversations import Case


async def answer_of(case: Case) -> str:
    """Return the answer to the last message of a case; a memory that is asked finds nothing."""
    nothing = types.Part.from_function_response(name="load_memory", response={"status": "success", "memories": []})
    introduced = types.Content(role="model", parts=[types.Part(text=INTRODUCTION)])
    said = [types.Content(role="user", parts=[types.Part(text=text)]) for text in (*case.said, case.question)]
    looks_up = classify(case.question)[0] in (MessageKind.QUESTION, MessageKind.OVERVIEW)
    contents = [introduced, *said, *([types.Content(role="user", parts=[nothing])] if looks_up else [])]
    request = LlmRequest(contents=contents, config=types.GenerateContentConfig())
    [response] = [each async for each in OfflineModel().generate_content_async(request)]
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0].text or ""
