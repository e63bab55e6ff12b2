"""Hits are cut to limit, threshold and tokens."""

import pytest

from gaia_memory.language.printable_text import estimate_tokens
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
    ],
)
def test_hits_are_cut_to_limit_threshold_and_tokens(bounds, kept):
    """Three characters count as a token."""
    assert cut_to_budget(HITS, **bounds) == HITS[:kept]


@pytest.mark.parametrize("text", ["x" * 91_000, "ש" * 91_000, "a b " * 700])
@pytest.mark.parametrize("tokens", [10, 2_000])
def test_a_fact_that_is_longer_than_the_budget_is_cut_and_marked(text, tokens):
    """It fills the budget; a fact after it does not fit."""
    long = Hit(fact=make_fact("long", text), score=1.0, why={})
    if estimate_tokens(text) <= tokens:
        assert cut_to_budget([long], limit=5, tokens=tokens) == [long]
        return
    [hit] = cut_to_budget([long, *HITS], limit=5, tokens=tokens)

    assert hit.fact.id == "long"
    assert hit.fact.text.endswith(" […]")
    assert text.startswith(hit.fact.text.removesuffix(" […]"))
    assert tokens - 3 <= estimate_tokens(hit.fact.text) <= tokens
