"""What the demo shows at a terminal: colours, wrapped lines, and failures in red."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gaia_memory.cli.demo.demo import NEXT_COMMAND
from gaia_memory.cli.demo.story_screen import MAX_COLUMNS, Screen
from support.cli.cli_runner import run_gaia

RED, RESET = "\x1b[31m", "\x1b[0m"
LONG_TEXT = "I am allergic to peanuts, and to hazelnuts, walnuts, almonds and whatever else grows on a tree."


def terminal(*, columns: int = MAX_COLUMNS, is_terminal: bool = True) -> Console:
    """Return a console that keeps what is printed."""
    colours = "standard" if is_terminal else "auto"
    return Console(file=io.StringIO(), width=columns, force_terminal=is_terminal, color_system=colours)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_speaker_has_a_colour():
    """At a terminal the three are told apart at a glance."""
    console = terminal()
    screen = Screen(console)
    for speaker in ("ada", "eli", "gaia"):
        screen.show_message(speaker, "hello")
    colours = [line.partition("m")[0] for line in printed(console).splitlines()]

    assert len(set(colours)) == 3
    assert all(colour.startswith("\x1b[") for colour in colours)


def test_nothing_is_coloured_outside_a_terminal():
    """Not even a failure: a file holds plain text."""
    console = terminal(is_terminal=False)
    screen = Screen(console)
    screen.show_time("Monday")
    screen.show_message("ada", "hello")
    screen.observe(False, "it holds", found="it does not")

    assert "\x1b" not in printed(console)


def test_no_color_leaves_no_colour_at_a_terminal(monkeypatch: pytest.MonkeyPatch):
    """Bold stays, colours go."""
    monkeypatch.setenv("NO_COLOR", "1")
    console = terminal()
    Screen(console).observe(False, "it holds", found="it does not")

    assert "\x1b[3" not in printed(console)
    assert "it does not" in printed(console)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_wrap_at_spaces_and_fit_the_terminal(columns: int):
    """A wide terminal gets lines of at most 80 columns; further lines are indented below the first."""
    console = terminal(columns=columns, is_terminal=False)
    Screen(console).show_message("ada", LONG_TEXT)
    first, *rest = printed(console).splitlines()

    assert max(len(line) for line in (first, *rest)) <= min(columns, MAX_COLUMNS)
    assert first.startswith("  ada  I am")
    assert all(line.startswith(" " * 7) for line in rest)
    assert " ".join(" ".join((first, *rest)).split()) == f"ada {LONG_TEXT}"


def test_a_failed_observation_says_in_red_what_was_expected_and_found():
    """It takes the place of the claim, and is counted."""
    console = terminal()
    screen = Screen(console)
    screen.observe(True, "water is wet", found="dry water")
    screen.observe(False, "pigs fly", found="pigs walk")
    passed, failed = printed(console).splitlines()

    assert "✓" in passed
    assert RED not in passed
    assert failed.count(RED) == 2
    assert "✗" in failed
    assert f"{RED}expected: pigs fly; found: pigs walk{RESET}" in failed
    assert (screen.observed_count, screen.failed_count) == (2, 1)


def test_a_requirement_is_shown_only_if_it_fails():
    """The conversation above it shows what was observed."""
    console = terminal(is_terminal=False)
    screen = Screen(console)
    screen.require(True, "an answer", found="none")
    silent = printed(console)
    screen.require(False, "an answer", found="none")

    assert silent == ""
    assert printed(console).split() == ["✗", "expected:", "an", "answer;", "found:", "none"]
    assert (screen.observed_count, screen.failed_count) == (2, 1)


def test_json_needs_verify():
    """A story is no data; the message says what to pass."""
    done = run_gaia("demo", "--json")

    assert done.code == 2
    assert "--verify" in done.err
    assert NEXT_COMMAND not in done.out
