"""Text for people at a terminal: wrapped words and short ids."""

from __future__ import annotations

import pytest

from gaia_memory.cli.ui.fact_output import shorten_ids
from gaia_memory.cli.ui.prompt import is_goodbye
from gaia_memory.cli.ui.word_wrap import WordWrapper, wrap_words


def streamed(text: str, width: int | None, *, size: int, column: int = 0) -> str:
    """Return a text that arrived in pieces of this size."""
    wrapper = WordWrapper(width, column=column)
    pieces = [wrapper.add(text[start : start + size]) for start in range(0, len(text), size)]
    return "".join(pieces) + wrapper.finish()


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("one two three four", "one two\nthree four"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("- one two three", "- one two\n  three"),
        ("12. one two three", "12. one\n    two\n    three"),
        ("a incomprehensibilities b", "a\nincomprehensibilities\nb"),
        ("日本 日本 日本", "日本 日本\n日本"),
    ],
)
def test_words_wrap_at_spaces_however_the_text_arrives(text: str, wrapped: str, size: int) -> None:
    """No word is broken; list items are continued below their text; wide characters count twice."""
    assert streamed(text, 10, size=size) == wrapped


def test_a_second_column_is_continued_below_itself() -> None:
    """A table of commands stays readable on a narrow terminal."""
    line = "- /reset   learn from it and start a new one"

    assert wrap_words(line, 31) == "- /reset   learn from it and\n           start a new one"


def test_text_for_a_pipe_passes_unchanged() -> None:
    """Programs break lines themselves."""
    assert streamed("one  two three\n", None, size=2) == "one  two three\n"


def test_the_first_line_leaves_room_for_the_name_before_it() -> None:
    """It begins behind the agent's name."""
    assert streamed("one two", 10, size=1, column=6) == "one\ntwo"


def test_ids_are_shown_as_far_as_it_takes_to_tell_them_apart() -> None:
    """Six characters, or more where two begin alike."""
    assert shorten_ids(["abcdef-1", "bcdefa-2"]) == ["abcdef", "bcdefa"]
    assert shorten_ids(["abcdef12", "abcdef13", "zzzzzzzz"]) == ["abcdef12", "abcdef13", "zzzzzzzz"]
    assert shorten_ids(["abcdefg1", "abcdefh1"]) == ["abcdefg", "abcdefh"]
    assert shorten_ids([]) == []


@pytest.mark.parametrize(
    ("line", "leaves"), [("quit", True), (" Exit ", True), (":q", True), ("I quit smoking", False)]
)
def test_a_goodbye_is_the_whole_line(line: str, leaves: bool) -> None:
    """A sentence with the word is talk."""
    assert is_goodbye(line) is leaves
