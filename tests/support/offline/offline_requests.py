"""Requests to the offline model whose answers a test reads."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory.adk.models.offline.message_kinds import MessageKind, classify
from gaia_memory.adk.models.offline.offline_model import INTRODUCTION, OfflineModel
from gaia_memory.backend.offline.rule_extraction import extract_facts
from gaia_memory.truth.reconcile_by_rule import Statement, decide_by_rule

if TYPE_CHECKING:
    from support.offline.offline_conversations import Case

_STARTED_AT = datetime.now(UTC)


async def answer_of(case: Case) -> str:
    """Return the answer to the last message of a case; a memory that is asked finds nothing."""
    return await _answer((*case.said, case.question), [])


async def answer_after_learning(case: Case) -> str:
    """Return the answer to the question of a case in a new conversation; each message before was learned alone."""
    return await _answer((case.question,), await asyncio.to_thread(memories_after, case.said))


async def answer_after_conversation(case: Case) -> str:
    """Return the answer to the question of a case in a new conversation; what was said before was learned as one."""
    facts = await asyncio.to_thread(facts_of, case.said)
    days = [(_STARTED_AT + timedelta(seconds=at)).isoformat() for at in range(len(facts))]
    return await _answer(
        (case.question,), [{"text": fact, "timestamp": day} for fact, day in zip(facts, days, strict=True)]
    )


def memories_after(said: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the facts that messages leave, learned one by one, as a recall without a limit finds them."""
    current: list[Statement] = []
    for at, message in enumerate(said):
        said_at = _STARTED_AT + timedelta(seconds=at)
        for fact in facts_of((message,), said_at):
            new = Statement(text=fact, said_at=said_at, id=f"{len(current):04}{fact}")
            decision = decide_by_rule(new, current)
            ended = decision.existing if decision and decision.action in ("UPDATE", "DELETE") else ()
            current = [*(each for each in current if each.id not in ended), new]
    return [{"text": each.text, "timestamp": each.said_at.isoformat()} for each in current]


def facts_of(said: tuple[str, ...], said_at: datetime = _STARTED_AT) -> list[str]:
    """Return what is learned of the messages of one conversation."""
    entries = json.dumps([{"role": "user", "content": message} for message in said])
    return extract_facts(f"## New Messages\n{entries}\n\n## Observation Date\n{said_at:%Y-%m-%d}")


async def _answer(said: tuple[str, ...], memories: list[dict[str, Any]]) -> str:
    found = types.Part.from_function_response(name="load_memory", response={"status": "success", "memories": memories})
    introduced = types.Content(role="model", parts=[types.Part(text=INTRODUCTION)])
    messages = [types.Content(role="user", parts=[types.Part(text=text)]) for text in said]
    looks_up = classify(said[-1])[0] in (MessageKind.QUESTION, MessageKind.OVERVIEW)
    contents = [introduced, *messages, *([types.Content(role="user", parts=[found])] if looks_up else [])]
    request = LlmRequest(contents=contents, config=types.GenerateContentConfig())
    [response] = [each async for each in OfflineModel().generate_content_async(request)]
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0].text or ""
