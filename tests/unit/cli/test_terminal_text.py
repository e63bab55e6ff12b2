"""Text for people at a terminal: short ids, and how to leave."""

from __future__ import annotations

import pytest

from gaia_memory.cli.ui.fact_output import shorten_ids
from gaia_memory.cli.ui.prompt import is_goodbye


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
