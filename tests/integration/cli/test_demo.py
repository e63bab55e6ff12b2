"""`gaia demo`: the story, and what it says when something fails."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from docs.render.demo_capture import CAPTURE_PATH, USER, text_of
from rich.console import Console

from gaia_memory.cli.demo import story
from gaia_memory.cli.demo.demo import NEXT_COMMAND
from gaia_memory.cli.demo.story_screen import MAX_COLUMNS, Screen
from support.checkout import ROOT
from support.cli.cli_runner import gaia_home, run_gaia, run_gaia_process

SCREEN_LINES = 28
OTHER_SETTINGS = {
    "LOGNAME": USER,
    "GAIA_MEMORY__ENABLED": "false",
    "GEMINI_API_KEY": "no-real-key",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
}
DAY = re.compile(r"(?<=On)[A-Z][a-z]+day(?=yousaid)")
"""Depends on the day of the run."""


def test_the_demo_tells_the_story_on_one_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A talk, a question in a new session, another person and a forget; the last line is the next command.

    The machine's own settings do not affect it, and it leaves nothing behind.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = run_gaia_process("demo", environment=OTHER_SETTINGS, timeout_seconds=170.0)
    lines = done.out.splitlines()
    expected = [
        "Three days ago",
        "ada  I am allergic to peanuts.",
        "Learned",
        "Today",
        "ada  What am I allergic to?",
        "peanuts",
        "eli  What am I allergic to?",
        "Eli asked the same and learned nothing",
        "ada  /forget yes",
        "I forgot 2 facts about you.",
        "Files contained peanuts and harbour; none does any more.",
        NEXT_COMMAND,
    ]
    unread = iter(lines)
    missing = [text for text in expected if not any(text in line for line in unread)]

    assert (done.code, done.err) == (0, "")
    assert missing == [], done.out
    assert lines[-1] == f"Now you: {NEXT_COMMAND} {USER}"
    assert "✗" not in done.out
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= MAX_COLUMNS
    assert "\x1b" not in done.out
    assert not gaia_home().exists()
    assert not list(tmp_path.glob("gaia-demo-*"))
    captured, shown = text_of((ROOT / CAPTURE_PATH).read_text(encoding="utf-8")), "".join(done.out.split())
    assert DAY.sub("", captured) == DAY.sub("", shown)


def test_a_failed_observation_is_told_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was found; the next command is for those who have seen all pass."""

    async def tell(_: Path, screen: Screen) -> None:
        screen.observe(True, "water is wet", found="dry water")
        screen.observe(False, "pigs fly", found="pigs walk")

    monkeypatch.setattr(story, "tell_story", tell)
    done = run_gaia("demo")

    assert done.code == 1
    assert "✓    water is wet" in done.out
    assert "expected: pigs fly; found: pigs walk" in done.out
    assert NEXT_COMMAND not in done.out


def test_a_failure_is_red_at_a_terminal() -> None:
    """The mark and the text."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    Screen(console).observe(False, "pigs fly", found="pigs walk")

    assert console.file.getvalue().count("\x1b[31m") == 2  # type: ignore[attr-defined]
