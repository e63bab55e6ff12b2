"""A model's answer is read line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.profile.bullets import MAX_CHARACTERS, bullets_of


@pytest.mark.parametrize(
    ("answer", "bullets"),
    [
        ("- Name: Itay\n- Likes tea", ("Name: Itay", "Likes tea")),
        ("* Name: Itay\n  • Likes tea\n\u2013 Runs", ("Name: Itay", "Likes tea", "Runs")),
        ("1. Name: Itay\n2) Likes tea", ("Name: Itay", "Likes tea")),
        ("Here you are:\n```\n- Name: Itay\n```\nAnything else?", ("Name: Itay",)),
        ("- **Name:** Itay\n- Name: Itay", ("Name: Itay",)),
        ("- Lives in Berlin,\n  near the zoo", ("Lives in Berlin, near the zoo",)),
        ("- 2 dogs\n- -5 degrees is fine", ("2 dogs", "-5 degrees is fine")),
        ("", ()),
        (" \n\n", ()),
        ("- None\n- \n- ...", ()),
        ("I cannot help with that.", ()),
        ('{"profile": ["Name: Itay"]}', ()),
        ("3.5 million", ()),
    ],
)
def test_bullet_lines_are_taken_and_all_else_is_left(answer, bullets):
    """Signs, numbers, fences, introductions and doubles go; an answer of another form gives nothing."""
    assert bullets_of(answer, limit=20) == bullets


@pytest.mark.acceptance("P09")
def test_the_limit_is_ours():
    """A model that answers 50 lines is cut to what was asked for."""
    answer = "\n".join(f"- fact {number}" for number in range(50))

    assert bullets_of(answer, limit=5) == tuple(f"fact {number}" for number in range(5))


@given(st.text(), st.integers(0, 5))
def test_any_answer_gives_bounded_lines(answer, limit):
    """Nothing a model says breaks the block."""
    bullets = bullets_of(answer, limit=limit)

    assert len(bullets) <= limit
    assert all(len(line) <= MAX_CHARACTERS and len(line.splitlines()) == 1 for line in bullets)
