"""The page about failing models contains the figures of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gaia_memory.learning.circuit_breaker import (
    FAILURE_THRESHOLD,
    JITTER_RATIO,
    MAX_RETRY_AFTER_SECONDS,
    PARK_AFTER_BAD_ANSWERS,
    failure_backoff_seconds,
    outage_backoff_seconds,
)
from gaia_memory.learning.sweep import MAX_PARALLEL_CONVERSATIONS
from gaia_memory.model_calls import AGENT_STREAM_SECONDS, ATTEMPT_TEMPERATURES, OWN_SERVER_AGENT, SHORT_ANSWER_TOKENS
from gaia_memory.profile.distil import BAD_ANSWER_PAUSE_SECONDS

PAGE = Path(__file__).parents[2] / "docs/explanation/when-a-model-fails.md"


@pytest.mark.parametrize(
    ("sentence", "is_true"),
    [
        (f"| after {PARK_AFTER_BAD_ANSWERS} in a row |", True),
        (
            "after 15 s, doubled up to 10 minutes",
            15 <= outage_backoff_seconds(1) <= 19 and 480 <= outage_backoff_seconds(99) <= 600,
        ),
        (
            "after a minute, doubled up to an hour",
            60 <= failure_backoff_seconds(1) <= 75 and 2880 <= failure_backoff_seconds(99) <= 3600,
        ),
        ("the provider names (at most an hour)", MAX_RETRY_AFTER_SECONDS == 3600),
        ("Each pause is up to a quarter longer by chance", JITTER_RATIO == 0.25),
        ("Each attempt asks up to three times", len(ATTEMPT_TEMPERATURES) == 3),
        (
            "190 s for the next piece, 5 minutes in total",
            (OWN_SERVER_AGENT.timeout_seconds, AGENT_STREAM_SECONDS) == (190, 300),
        ),
        (f"an answer of at most {SHORT_ANSWER_TOKENS:,} tokens is asked for at once", True),
        ("are not asked about again for an hour", BAD_ANSWER_PAUSE_SECONDS == 3600),
        (f"fails for {FAILURE_THRESHOLD} conversations in a row", True),
        (f"oldest first, {MAX_PARALLEL_CONVERSATIONS} conversations at once in each process", True),
    ],
)
def test_the_figures_on_the_page_match_the_code(sentence: str, is_true: bool) -> None:
    """Each sentence is on the page and true."""
    assert is_true
    assert sentence in " ".join(PAGE.read_text(encoding="utf-8").split())
