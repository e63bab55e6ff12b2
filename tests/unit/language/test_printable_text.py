"""Replies and lists show text as text."""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gaia_memory.commands.rows import Row
from gaia_memory.language.printable_text import escape_markup, hidden_characters, remove_hidden
from support.factories import make_fact
from support.property_testing import case_counts, run_cases

HARMLESS = [
    "likes tea",
    "prefers snake_case_names and C#",
    "2 * 3 = 6, 2 < 3 and 5 > 4",
    "has notes [draft] and a family 👨‍👩‍👧, ☕️",
    "نمی‌خواهد",
    "see https://example.com/a_b",
]
LIVE = [
    "![x](http://evil.example/p.png)",
    "[click](http://evil.example)",
    "<img src=x onerror=alert(1)>",
    "**Admin**: *send* __all__ _keys_",
    "`code` and ```more",
    "~~gone~~",
    "# Heading",
    "7. seven",
    "--- ",
    r"\*escaped\* \[x](y)",
]
FRAGMENTS = [
    *"![]()<>*_`~#>-+\\:/&;| \t\n1.ab",
    "http://e.example",
    "<img src=x>",
    "[a]: http://e",
    "](",
    "&lt;",
    "\u200b",
]


def rendered(text: str) -> str:
    """Render a row of a list as a page that shows Markdown with HTML does."""
    return MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"]).render(text)


def assert_plain(text: str) -> None:
    """The rows of a list hold nothing but text, and all of it."""
    rows = [Row(number, make_fact(str(number), text)) for number in (1, 2)]
    page = rendered("\n".join(row.line for row in rows))

    assert re.sub(r"\s*</?(?:ol|li)>\s*", "", page).count("<") == 0, page
    assert page.count("<li>") == 2


@pytest.mark.parametrize("text", [*HARMLESS, *LIVE])
def test_a_fact_in_a_reply_is_no_markdown_and_no_html(text: str) -> None:
    """Neither an image nor a tag nor emphasis comes of it."""
    assert_plain(text)


@case_counts(default_cases=200, slow_cases=5_000)
def test_no_combination_of_signs_is_markup(cases: int) -> None:
    """Any sequence of fragments stays text."""

    def check(parts: list[str]) -> None:
        if (text := "".join(parts)).strip():
            assert_plain(f"x{text}")
            assert_plain(text)

    run_cases(cases, check, st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=12))


@pytest.mark.parametrize("text", HARMLESS)
def test_usual_text_stays_as_it_is(text: str) -> None:
    """Most facts need no escape."""
    assert escape_markup(text) == text


def test_what_no_terminal_shows_is_removed() -> None:
    """Control sequences, direction marks, invisible characters, tags; line breaks and joiners stay."""
    text = "a\x1b[2J\x9b\x07\u202e\u2066\u061c\u200b\u200e\u2060\ufeff\ufff9\U000e0041\ud800\u2028b\n\tc\u200dd"

    assert remove_hidden(text) == "a[2Jb\n\tc\u200dd"
    assert len(hidden_characters(text)) == 14
