"""The offline model calls the tools of an agent, and quotes what they return."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory.adk.models.offline_model import OfflineModel

pytestmark = pytest.mark.heavy

ALL_TOOLS = ("remember", "load_memory", "recall", "forget_memory")
NOTHING = "I find nothing about that in memory."


def user(text: str) -> types.Content:
    """Return a message of the person."""
    return types.Content(role="user", parts=[types.Part(text=text)])


def response(name: str, answer: Mapping[str, Any]) -> types.Content:
    """Return what a tool answered."""
    return types.Content(role="user", parts=[types.Part.from_function_response(name=name, response=dict(answer))])


def row(text: str, days_ago: float, **more: Any) -> dict[str, Any]:
    """Return a fact as a search shows it."""
    return {"text": text, "timestamp": (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(), **more}


def found(*rows: Mapping[str, Any]) -> types.Content:
    """Return the answer of a search."""
    return response("load_memory", {"status": "success", "memories": list(rows)})


async def ask(*contents: types.Content, tools: tuple[str, ...] = ALL_TOOLS, stream: bool = False) -> str:
    """Return the answer of the model; a call as `name(value)`."""
    request = LlmRequest(contents=list(contents))
    request.tools_dict = dict.fromkeys(tools)  # type: ignore[arg-type]
    answers = [each async for each in OfflineModel(zone=UTC).generate_content_async(request, stream=stream)]
    [part] = answers[-1].content.parts  # type: ignore[union-attr, misc]
    if call := part.function_call:
        return f"{call.name}({', '.join(map(str, (call.args or {}).values()))})"
    assert "".join(each.content.parts[0].text for each in answers[:-1]) == (part.text if stream else "")  # type: ignore[index, union-attr, misc]
    return part.text or ""


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("I live in Rome.", "Noted."),
        ("Hello", "Noted."),
        ("Where do I live?", "load_memory(Where do I live?)"),
        ("I moved. Where do I live? Tell me.", "load_memory(I moved. Where do I live? Tell me.)"),
        ("私はどこに住んでいますか\uff1f", "load_memory(私はどこに住んでいますか\uff1f)"),
        ("remember that I like teal", "remember(I like teal)"),
        ("Please remember that I like teal", "remember(I like teal)"),
        ("Remember that!", "Noted."),
        ("Do you remember that I like teal?", "load_memory(Do you remember that I like teal?)"),
        ("forget my sister", "load_memory(my sister)"),
        ("forget", "Noted."),
        ("<TURN_NOTES>\nToday is Monday.\n</TURN_NOTES>\nWhere do I live?", "load_memory(Where do I live?)"),
    ],
)
async def test_a_message_calls_the_tool_that_it_asks_for(message: str, answer: str) -> None:
    """Everything else is noted."""
    assert await ask(user(message)) == answer


async def test_the_tool_is_the_one_that_the_agent_has() -> None:
    """With a prefix, another search, or none at all."""
    question = user("Where do I live?")
    assert await ask(question, tools=("mem_load_memory",)) == "mem_load_memory(Where do I live?)"
    assert await ask(question, tools=("recall",)) == "recall(Where do I live?)"
    assert await ask(question, tools=()) == "I have no tool that searches memory."
    assert await ask(user("remember that I like teal"), tools=()) == "Noted."
    assert await ask(user("forget my sister"), tools=()) == "I have no tool that searches memory."


async def test_a_question_is_answered_by_three_quotations_the_newest_first() -> None:
    """Each with its day; what shares no word with the question only filled up the list."""
    rows = [row("I live in Rome.", 400), row("I live in Oslo.", 0), row("I like figs.", 0), row("We live well.", 30)]
    day = datetime.now(UTC)
    lines = (await ask(user("Where do I live?"), found(*rows, row("Ada lives here.", 1)))).splitlines()

    assert lines[0] == f'On {day:%A} you said: "I live in Oslo."'
    assert [line.partition(" you said: ")[2] for line in lines] == [
        '"I live in Oslo."',
        '"We live well."',
        '"I live in Rome."',
    ]
    assert lines[2].startswith(f"On {(day - timedelta(days=400)).day} ")


async def test_what_is_not_found_is_not_answered() -> None:
    """Neither with what only filled up the list, nor when memory is away."""
    question = user("What is my dentist called?")
    away = {"status": "unavailable", "message": "memory cannot answer now: tell the user, and do not guess"}
    assert await ask(question, found()) == NOTHING
    assert await ask(question, found(row("I like figs.", 1))) == NOTHING
    assert await ask(question, response("load_memory", away)) == "I cannot look that up: memory cannot answer now."


async def test_what_was_remembered_is_repeated_in_the_words_of_the_tool() -> None:
    """They may be masked; what was not saved is not promised."""
    asked = user("remember that my password is abc")
    answers = [
        {"status": "success", "text": "my password is [redacted: a password]"},
        {"status": "confirmation_required", "text": "I like teal", "message": "not saved yet: ask the user"},
        {"status": "error", "message": "memory cannot save this now: tell the user that it was not saved"},
    ]
    assert [await ask(asked, response("remember", each)) for each in answers] == [
        "I will remember: my password is [redacted: a password]",
        'Say yes, and I will remember: "I like teal"',
        "That was not saved: memory cannot save this now.",
    ]


async def test_what_is_to_be_forgotten_is_searched_for_first() -> None:
    """Then the fact that fits best is forgotten, by the id that the search showed."""
    asked, rows = (
        user("forget my sister"),
        [row("My sister is Noa.", 1, id="#a1b2c3"), row("I like figs.", 0, id="#d4e5f6")],
    )
    nothing = "Nothing was forgotten: type /forget to choose what goes."
    assert await ask(asked, found(*rows)) == "forget_memory(#a1b2c3)"
    assert await ask(asked, found(*rows), tools=("load_memory",)) == nothing
    assert await ask(asked, found(rows[1])) == NOTHING
    assert await ask(asked, response("forget_memory", {"status": "success"})) == "It is forgotten."
    assert await ask(asked, response("forget_memory", {"status": "confirmation_required"})) == nothing


async def test_an_answer_is_streamed_in_pieces() -> None:
    """Their sum is the answer."""
    assert await ask(user("Where do I live?"), found(row("I live in Oslo.", 0)), stream=True)
