"""What the offline chat replies to corrections, small talk and requests is what learning keeps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from gaia_memory.adk.models.offline.offline_model import INTRODUCTION, OfflineModel
from gaia_memory.backend.offline.rule_extraction import extract_facts

pytestmark = pytest.mark.heavy

CONVERSATIONS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "backend" / "sentences" / "corrections.yaml").read_text(encoding="utf-8")
)
FOUND_NOTHING = types.Part.from_function_response(name="load_memory", response={"status": "success", "memories": []})


def remember(fact: str) -> None:
    """Keep."""


def load_memory(query: str) -> None:
    """Look."""


async def chat(said: list[str]) -> tuple[list[dict[str, str]], types.Part]:
    """Return the messages of a conversation with an empty memory, and the last part of the model that is no look-up."""
    contents = [types.Content(role="model", parts=[types.Part(text=INTRODUCTION)])]
    messages: list[dict[str, str]] = []
    part = types.Part()
    for message in said:
        contents.append(types.Content(role="user", parts=[types.Part(text=message)]))
        part = await _next_part(contents)
        if part.function_call and part.function_call.name == "load_memory":
            contents += [types.Content(role="model", parts=[part]), types.Content(role="user", parts=[FOUND_NOTHING])]
            part = await _next_part(contents)
        contents.append(types.Content(role="model", parts=[part]))
        messages += [{"role": "user", "content": message}, {"role": "assistant", "content": part.text or ""}]
    return messages, part


async def _next_part(contents: list[types.Content]) -> types.Part:
    request = LlmRequest(contents=list(contents), config=types.GenerateContentConfig())
    request.append_tools([FunctionTool(remember), FunctionTool(load_memory)])
    [response] = [each async for each in OfflineModel().generate_content_async(request)]
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0]


def normal_form(fact: str) -> str:
    """Return a fact without the dates that are added to relative ones."""
    return re.sub(r" \([^()]*\d{4}[^()]*\)", "", fact).rstrip(".")


@pytest.mark.parametrize("group", CONVERSATIONS)
async def test_what_is_corrected_is_learned_as_the_reply_says(group: str) -> None:
    """Whatever the person asks in between; nothing is lost, nothing garbled."""
    wrong = []
    for case in CONVERSATIONS[group]:
        messages, part = await chat(case["said"])
        facts = extract_facts(f"## New Messages\n{json.dumps(messages)}\n\n## Observation Date\n2026-11-20")
        reply, call = part.text or "", part.function_call
        kept = str((call.args or {})["fact"]).rstrip(".") if call else None
        is_right = [normal_form(fact) for fact in facts] == case["learned"]
        if not (is_right and case.get("reply", "") in reply and kept == case.get("calls")):
            wrong.append((case["said"], facts, reply, kept))

    assert not wrong
