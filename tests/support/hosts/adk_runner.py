"""ADK Runners and sessions for tests, and the requests that a scripted model received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.genai import types

from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.testing import ScriptedLlm

APP, USER, SESSION = "app", "itay", "itay:cli"
_NOT_SAID = "For context:"


def function_call(name: str, call_id: str | None = None, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def function_response(name: str, call_id: str, **result: Any) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=result))


def model_content(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


async def run_turn(runner: Runner, message: str | types.Content, **run_options: Any) -> list[Event]:
    content = types.UserContent(message) if isinstance(message, str) else message
    turn = runner.run_async(user_id=USER, session_id=SESSION, new_message=content, **run_options)
    return [event async for event in turn]


def sent_texts(request: LlmRequest) -> list[str]:
    """Every text sent to the model, including relayed words of other agents, in order; no notes of the turn."""
    return [without_notes(part.text) for content in request.contents for part in content.parts or [] if part.text]


def user_texts(request: LlmRequest) -> list[str]:
    """The user's messages as sent to the model, without relayed words of other agents."""
    return [
        without_notes(part.text)
        for content in request.contents
        if content.role == "user"
        for part in content.parts or []
        if part.text and not any((other.text or "").startswith(_NOT_SAID) for other in content.parts or [])
    ]


def part_kinds(request: LlmRequest) -> list[str]:
    """The sequence of texts, calls and responses sent to the model, without the notes of the turn."""
    return [
        "call" if part.function_call else "response" if part.function_response else without_notes(str(part.text))
        for content in request.contents
        for part in content.parts or []
    ]


def unpaired_calls(requests: Sequence[LlmRequest]) -> list[str]:
    """Names of calls without a response and of responses without a call, in any request."""
    unpaired_names: list[str] = []
    for request in requests:
        open_calls: list[str] = []
        for content in request.contents:
            for part in content.parts or []:
                if part.function_call:
                    open_calls.append(str(part.function_call.name))
                elif part.function_response and part.function_response.name in open_calls:
                    open_calls.remove(part.function_response.name)
                elif part.function_response:
                    unpaired_names.append(str(part.function_response.name))
        unpaired_names += open_calls
    return unpaired_names


async def load_session(service: BaseSessionService) -> Session:
    session = await service.get_session(app_name=APP, user_id=USER, session_id=SESSION)
    assert session is not None
    return session


def echo_model() -> ScriptedLlm:
    """A model that answers every message with `re` and the message."""

    def answer(request: LlmRequest) -> str:
        return f"re {without_notes(request.contents[-1].parts[-1].text)}"

    return ScriptedLlm(default=answer)
