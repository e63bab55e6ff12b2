"""The notes before a message: their bounds, and their place in a request."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.adk.plugins.turn_notes import _DAYS, TurnNotes, _Line, _zone_name, insert_transient
from gaia_memory.config.sections.memory_section import MIN_TAIL_TOKENS
from gaia_memory.language.printable_text import estimate_tokens

pytestmark = pytest.mark.heavy

NOTES = "<TURN_NOTES>\nnow\n</TURN_NOTES>"


def content(role: str, *texts: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text) for text in texts])


def response() -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"a": 1})])


def shape(request: LlmRequest) -> list[str]:
    return [(content.parts or [types.Part()])[0].text or "call" for content in request.contents]


HISTORY = [content("user", "one"), content("model", "first")]
CALLED = [types.Content(role="model", parts=[types.Part.from_function_call(name="f", args={})]), response()]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([content("user", "two")], [NOTES, "two"]),
        ([*HISTORY, content("user", "two")], ["one", "first", NOTES, "two"]),
        ([*HISTORY, content("user", "two"), *CALLED], ["one", "first", "two", "call", "call", NOTES]),
        ([], [NOTES]),
    ],
)
def test_notes_stand_before_the_message_or_behind_the_answer_of_a_tool(
    contents: list[types.Content], expected: list[str]
) -> None:
    """This is what ADK's private method does; all that comes before is the same in the next request."""
    request = LlmRequest(contents=list(contents))
    insert_transient(request, NOTES)

    assert shape(request) == expected


@pytest.mark.parametrize(
    ("last", "parts"),
    [(content("user", "two"), [NOTES, "two"]), (response(), [None, NOTES]), (content("model", "two"), [NOTES])],
)
def test_without_adks_private_way_in_notes_are_a_part_of_the_last_content(
    monkeypatch: pytest.MonkeyPatch, last: types.Content, parts: list[str | None]
) -> None:
    """The content of the event stays as it is."""
    monkeypatch.delattr(LlmRequest, "_insert_transient_user_content")
    before = last.model_copy(deep=True)
    request = LlmRequest(contents=[*HISTORY, last])
    insert_transient(request, NOTES)

    assert [part.text for part in request.contents[-1].parts or []] == parts
    assert last == before


def test_the_time_alone_fits_into_the_fewest_tokens_in_every_zone() -> None:
    """Beside the mark for what was left out."""
    day = max(_DAYS, key=len)
    for name in available_timezones():
        now = datetime(2026, 3, 25, 9, 30, tzinfo=ZoneInfo(name))
        lines = _Line(f"Now: {day} {now:%Y-%m-%d %H:%M} ({_zone_name(now)})"), *[_Line("x" * 999)] * 99
        text = TurnNotes(lines, MIN_TAIL_TOKENS).text

        assert estimate_tokens(text) <= MIN_TAIL_TOKENS
        assert name in text


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=300), max_size=25),
    st.integers(50, 500),
)
def test_notes_are_whole_lines_within_their_tokens(texts: list[str], tokens: int) -> None:
    """Whatever the facts are; a mark at the end counts what is missing."""
    lines = ["Now: Monday", *texts]
    text = TurnNotes(tuple(map(_Line, lines)), tokens).text
    kept = text.split("\n")[2:-1]
    missing = int(kept.pop()[1:].split()[0]) if kept[-1].endswith("more left out]") else 0

    assert estimate_tokens(text) <= tokens
    assert kept[0] == "Now: Monday"
    assert len(kept) + missing == len(lines)
    remaining = iter(lines)
    assert all(line in remaining for line in kept)
