"""The answer of an extraction model is parsed strictly, but for its optional keys."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from gaia_memory.backend.answers import parse_extraction
from gaia_memory.errors import BadAnswerError, CutAnswerError


@pytest.mark.parametrize(
    ("given", "speaker"),
    [
        (None, None),
        ("user", "user"),
        (["assistant"], None),
        (7, None),
    ],
)
def test_an_attribution_that_is_no_text_is_left_out(given: Any, speaker: str | None) -> None:
    """Text is kept as it is: what it may say is decided where the speakers are known."""
    [fact] = parse_extraction(json.dumps({"memory": [{"text": "likes tea", "attributed_to": given}]}))

    assert fact.attributed_to == speaker


@pytest.mark.parametrize("length", range(1, len('{"memory": [{"text": "User moved", "category": "home"}]}')))
def test_an_answer_that_ends_in_the_middle_is_a_cut_one(length: int) -> None:
    """Some servers do not say that they cut it; then each half of the question is asked."""
    with pytest.raises(CutAnswerError):
        parse_extraction('{"memory": [{"text": "User moved", "category": "home"}]}'[:length])


@pytest.mark.parametrize("answer", ["I do not know.", '{"memory": [}', '{"memory": []} and more'])
def test_another_syntax_error_is_no_cut(answer: str) -> None:
    """Halves of the question would be answered as badly."""
    with pytest.raises(BadAnswerError, match="is no JSON") as found:
        parse_extraction(answer)

    assert not isinstance(found.value, CutAnswerError)


def test_an_answer_that_repeats_itself_is_told_from_a_cut_one() -> None:
    """More tokens would only be more of the same."""
    with pytest.raises(BadAnswerError, match="repeats itself"):
        parse_extraction('{"memory": [{"text": "' + "She is a doctor. " * 200)


@pytest.mark.parametrize(
    ("given", "category"),
    [
        (" Health  and\nSport ", "health and sport"),
        ("x" * 40, "x" * 40),
        ("x" * 41, None),
        ("", None),
        (7, None),
        ("a\x00b", None),
    ],
)
def test_a_category_is_a_short_label_in_lower_case(given: Any, category: str | None) -> None:
    """Any other is left out, and the fact is kept."""
    [fact] = parse_extraction(json.dumps({"memory": [{"text": "likes tea", "category": given}]}))

    assert (fact.text, fact.category) == ("likes tea", category)


@pytest.mark.parametrize(
    ("said_at", "day"),
    [("2026-10-02", date(2026, 10, 2)), ("yesterday", None), (20261002, None), ("2026-02-30", None)],
)
def test_the_day_on_which_a_fact_was_said_is_read_if_it_is_one(said_at: object, day: date | None) -> None:
    """Anything else costs nobody the fact."""
    [fact] = parse_extraction(json.dumps({"memory": [{"text": "Likes tea", "said_at": said_at}]}))

    assert (fact.text, fact.said_at) == ("Likes tea", day)
