"""Hits are cut to limit, threshold and tokens."""

import pytest

from gaia_memory.models import Hit
from gaia_memory.recall.ranking.token_budget import cut_to_budget
from support.factories import make_fact

HITS = [Hit(fact=make_fact(str(score), "x" * 400), score=score, why={}) for score in (0.9, 0.6, 0.3)]


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({"limit": 5}, 3),
        ({"limit": 2}, 2),
        ({"limit": 0}, 0),
        ({"limit": 5, "threshold": 0.6}, 2),
        ({"limit": 5, "threshold": 0.95}, 0),
        ({"limit": 5, "tokens": 268}, 2),
        ({"limit": 5, "tokens": 267}, 1),
        ({"limit": 5, "tokens": 10}, 1),
    ],
)
def test_hits_are_cut_to_limit_threshold_and_tokens(bounds, kept):
    """Three characters count as a token; one hit that exceeds the budget is better than none."""
    assert cut_to_budget(HITS, **bounds) == HITS[:kept]
