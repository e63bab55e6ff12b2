"""The page about models that fail gives the figures of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gaia_memory.backend.extractor import ATTEMPTS
from gaia_memory.sessions.reach import ENOUGH
from gaia_memory.sessions.retry import LONGEST_NAMED_PAUSE, PARK_AFTER, SPREAD, after_failures, after_outages
from gaia_memory.sessions.sweep import PARALLEL

PAGE = Path(__file__).parents[2] / "docs/explanation/when-a-model-fails.md"


@pytest.mark.parametrize(
    ("sentence", "is_true"),
    [
        (f"| after {PARK_AFTER} in a row |", True),
        ("after 15 s, doubled up to 10 minutes", 15 <= after_outages(1) <= 19 and 480 <= after_outages(99) <= 600),
        ("after a minute, doubled up to an hour", 60 <= after_failures(1) <= 75 and 2880 <= after_failures(99) <= 3600),
        ("the provider names (at most an hour)", LONGEST_NAMED_PAUSE == 3600),
        ("Each pause is up to a quarter longer by chance", SPREAD == 0.25),
        ("Each attempt asks up to three times", ATTEMPTS == 3),
        (f"fails for {ENOUGH} different people in a row", True),
        (f"after {ENOUGH} in a row only that", True),
        (f"oldest first, {PARALLEL} conversations at once in each process", True),
    ],
)
def test_the_page_says_what_the_code_does(sentence: str, is_true: bool) -> None:
    """Each figure stands on it as the code has it."""
    assert is_true
    assert sentence in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_an_hour_without_an_answer_is_about_twenty_questions() -> None:
    """Those that were under way when it began, and one after each pause."""
    asked, passed = PARALLEL, 0.0
    while (passed := passed + after_outages(asked - PARALLEL + 1)) < 3600:
        asked += 1

    assert 10 < asked < 22
