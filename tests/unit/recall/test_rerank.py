"""A reranker changes only the order of the first facts, by its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.ranking.rank import RankedFact
from gaia_memory.recall.ranking.rerank import blend_reranker_scores


def ranked(*totals):
    return [
        RankedFact(fact_id=f"f{place}", parts={"keywords": total}, confidence=0.5)
        for place, total in enumerate(sorted(totals, reverse=True))
    ]


def ids(items):
    return [item.fact_id for item in items]


TOTALS = st.lists(st.floats(0.01, 5), min_size=1, max_size=12)


@given(TOTALS, st.data())
def test_with_full_share_the_reranker_orders_the_first_facts(totals, data):
    """The scale of its scores makes no difference, and the other facts stay below."""
    items = ranked(*totals)
    number = data.draw(st.integers(0, len(items)))
    scores = data.draw(st.lists(st.integers(-50, 50).map(float), min_size=number, max_size=number))
    found = blend_reranker_scores(items, scores, 1.0)

    expected = sorted(range(number), key=lambda place: -scores[place])
    assert ids(found) == [f"f{place}" for place in (*expected, *range(number, len(items)))]


@given(TOTALS, st.data(), st.floats(0, 1))
def test_totals_fall_and_stay_within_their_range(totals, data, share):
    """Scores and thresholds therefore keep their meaning, whatever the share."""
    items = ranked(*totals)
    scores = data.draw(st.lists(st.floats(-1e3, 1e3), min_size=len(items), max_size=len(items)))
    found = [item.total for item in blend_reranker_scores(items, scores, share)]

    assert found == sorted(found, reverse=True)
    assert found[0] <= items[0].total * (1 + 1e-9)
    assert found[-1] >= items[-1].total * (1 - 1e-9)


def test_with_half_share_the_other_parts_count_as_well():
    """The reranker can then move only facts with close totals."""
    items = ranked(3.0, 2.9, 1.0)

    assert ids(blend_reranker_scores(items, [0.0, 1.0, 0.4], 0.5)) == ["f1", "f0", "f2"]
    assert ids(blend_reranker_scores(items, [0.0, 1.0, 0.4], 1.0)) == ["f1", "f2", "f0"]
    assert blend_reranker_scores(items, [0.0, 1.0, 0.4], 0.5)[0].parts == pytest.approx(
        {"keywords": 1.45, "reranker": 1.5}
    )


def test_equal_totals_are_ordered_by_the_reranker():
    """There is no range to scale its scores to."""
    assert ids(blend_reranker_scores(ranked(1.0, 1.0, 1.0), [0.1, 0.2, 0.3], 1.0)) == ["f2", "f1", "f0"]
