"""A model's answer is parsed line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.profile.distil import MAX_BULLET_CHARACTERS, fit_bullets, parse_bullets


@pytest.mark.parametrize(
    ("answer", "bullets"),
    [
        ("* Name: Itay\n  • Likes tea\n\u2013 Runs", ("Name: Itay", "Likes tea", "Runs")),
        ("1. Name: Itay\n2) Likes tea", ("Name: Itay", "Likes tea")),
        ("Here you are:\n```\n- Name: Itay\n```\nAnything else?", ("Name: Itay",)),
        ("- **Name:** Itay\n- Name: Itay", ("Name: Itay",)),
        ("- Lives in Berlin,\n  near the zoo", ("Lives in Berlin, near the zoo",)),
        ("- 2 dogs\n- -5 degrees is fine", ("2 dogs", "-5 degrees is fine")),
        ("", ()),
        ("- None\n- \n- ...", ()),
        ("I cannot help with that.", ()),
        ('{"profile": ["Name: Itay"]}', ()),
    ],
)
def test_bullet_lines_are_kept_and_everything_else_is_dropped(answer, bullets):
    """Markers, numbers, fences, introductions and duplicates are removed; other answers give nothing."""
    assert parse_bullets(answer, limit=20) == bullets


@pytest.mark.acceptance("P09")
def test_the_number_of_bullets_is_limited():
    """A model that returns 50 lines is cut to the requested number."""
    answer = "\n".join(f"- fact {number}" for number in range(50))

    assert parse_bullets(answer, limit=5) == tuple(f"fact {number}" for number in range(5))


@given(st.text(), st.integers(0, 5))
def test_any_answer_gives_lines_of_limited_length(answer, limit):
    """No answer can break the block."""
    bullets = parse_bullets(answer, limit=limit)

    assert len(bullets) <= limit
    assert all(len(line) <= MAX_BULLET_CHARACTERS and len(line.splitlines()) == 1 for line in bullets)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("likes tea", 3), ("לב", 2), ("茶茶", 3), ("👍", 3), ("tea 茶", 4)]
)
def test_tokens_are_estimated_conservatively_in_every_script(text, tokens):
    """Scripts without spaces are counted by characters."""
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("+49 (0) 170 - 1 2 3 4 5 6 7 8 9 0 / 0-1-2-3-4-5-6-7-8-9", 49),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", 24),
        ("bnZDNVR4Z0hLcWVtUFhzVzBqYUxpUTdZb0ZyRTJkQ2s=", 33),
        ("a1b9d7r4t2b5", 12),
        ("👨‍👩‍👧‍👦👩🏽‍💻🏳️‍🌈🧑🏿‍🚀", 41),
        ("☀️❤️✅☎️✈️☕⚡⭐", 22),
    ],
)
def test_digits_ids_and_emoji_are_not_estimated_below_common_tokenizers(text, counted):
    """The figures are the most that the tokenizers of GPT-4o, Claude 2 and DeepSeek count."""
    assert estimate_tokens(text) >= counted


def test_bullets_are_dropped_whole_to_fit_the_tokens():
    """A long one is dropped, and later ones may still fit."""
    bullets = ("Name: Itay", "x" * 300, "茶" * 40, "Likes tea")

    assert fit_bullets(bullets, limit=20, tokens=20) == ("Name: Itay", "Likes tea")
    assert fit_bullets(bullets, limit=1, tokens=1_000) == ("Name: Itay",)


@given(st.lists(st.text(min_size=1, max_size=MAX_BULLET_CHARACTERS), min_size=1), st.integers(50, 500))
def test_bullets_never_exceed_the_tokens(bullets, tokens):
    """If the first is too long, its start is kept."""
    kept = fit_bullets(bullets, limit=20, tokens=tokens)

    assert kept
    assert sum(estimate_tokens(text) + 1 for text in kept) <= tokens
