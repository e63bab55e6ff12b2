"""The notes before a message: their bounds, and their place in a request."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.adk.plugins.turn_notes import _DAYS, TurnNotes, _Line, _zone_name, add_to_message, without_notes
from gaia_memory.config.sections.memory_section import MIN_TAIL_TOKENS
from gaia_memory.language.printable_text import estimate_tokens

pytestmark = pytest.mark.heavy

NOTES = "<TURN_NOTES>\nnow\n</TURN_NOTES>"


def content(role: str, *texts: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text) for text in texts])


def response() -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"a": 1})])


def shape(request: LlmRequest) -> list[list[str]]:
    return [[part.text or "other" for part in content.parts or []] for content in request.contents]


ONE, TWO, FIRST = content("user", "one"), content("user", "two"), content("model", "first")
CALLED = [types.Content(role="model", parts=[types.Part.from_function_call(name="f", args={})]), response()]
IMAGE = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([TWO], [["N two"]]),
        ([ONE, FIRST, TWO, *CALLED], [["one"], ["first"], ["N two"], ["other"], ["other"]]),
        (
            [TWO, FIRST, TWO, content("user", "For context:", "..")],
            [["two"], ["first"], ["N two"], ["For context:", ".."]],
        ),
        ([ONE, FIRST, *CALLED], [["N one"], ["first"], ["other"], ["other"]]),
        ([FIRST], [["first"]]),
        ([], []),
    ],
)
def test_notes_are_a_part_of_the_persons_last_message(contents: list[types.Content], expected: list[list[str]]) -> None:
    """Wherever it stands, and never behind the answer of a tool; without it, of the last text that is for the model."""
    before = [each.model_copy(deep=True) for each in contents]
    request = LlmRequest(contents=list(contents))
    add_to_message(request, "N", types.UserContent("two"))

    assert [[text.replace("\n", " ") for text in texts] for texts in shape(request)] == expected
    assert contents == before


def test_notes_before_an_image_are_a_text_of_their_own() -> None:
    """Behind a thought and before the words, if there are any."""
    thought = types.Part(text="hm", thought=True)
    for parts, expected in (
        ([IMAGE], ["N", "other"]),
        ([thought, IMAGE, types.Part(text="a")], ["hm", "other", "N\na"]),
    ):
        request = LlmRequest(contents=[types.Content(role="user", parts=parts)])
        add_to_message(request, "N", None)

        assert shape(request) == [expected]


def test_a_message_is_read_without_its_notes() -> None:
    """Once: what a person writes like notes stays."""
    assert without_notes(f"{NOTES}\n{NOTES}\nhi") == f"{NOTES}\nhi"
    assert without_notes("hi") == "hi"


def test_the_time_of_the_longest_zones_fits_beside_the_mark_for_what_was_left_out() -> None:
    """With fewer tokens the mark stands alone."""
    day = max(_DAYS, key=len)
    for name in sorted(available_timezones(), key=len)[-40:]:
        now = datetime(2026, 3, 25, 9, 30, tzinfo=ZoneInfo(name))
        lines = _Line(f"Now: {day} {now:%Y-%m-%d %H:%M} ({_zone_name(now)})"), *[_Line("x" * 999)] * 99
        text = TurnNotes(lines, 85).text

        assert estimate_tokens(text) <= 85
        assert name in text
        assert estimate_tokens(TurnNotes(lines, MIN_TAIL_TOKENS).text) <= MIN_TAIL_TOKENS


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
