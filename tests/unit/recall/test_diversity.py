"""Several wordings of one fact do not fill an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.ranking.diversity import DIVERSITY_WINDOW, diversify
from gaia_memory.recall.ranking.rank import RankedFact
from support.factories import make_fact
from support.recall_parts import columns_of


def ranked(*rows):
    """Return facts with these totals, best first, and their columns."""
    facts = [make_fact(f"f{place:03}", text) for place, (text, _) in enumerate(rows)]
    placed = [
        RankedFact(fact_id=each.id, parts={"keywords": total}, confidence=1.0)
        for each, (_, total) in zip(facts, rows, strict=True)
    ]
    return placed, columns_of(facts)


def places(items):
    return [int(item.fact_id[1:]) for item in items]


ROWS, SHELF = ranked(
    ("I am moving to Berlin in May", 1.0),
    ("I am moving to Berlin in May!", 0.95),
    ("In May I am moving to Berlin", 0.9),
    ("The new flat in Berlin has a balcony", 0.6),
    ("My sister visited me in Rome", 0.5),
)


def test_a_similar_fact_ranks_behind_a_different_one():
    """The best wording stays first, and the reasons contain the loss of the others."""
    found = diversify(ROWS, SHELF, 0.5)

    assert places(found)[:2] == [0, 3]
    assert found[3].parts["diversity"] == pytest.approx(-0.475)
    assert diversify(ROWS, SHELF, 0.0) == ROWS


def test_facts_of_the_same_form_about_different_things_are_not_similar():
    """The differing words matter: a list of who lives where keeps its order."""
    cities = ("Rome", "Oslo", "Cairo", "Lima", "Kyoto", "Perth", "Quito", "Malmo")
    said = [(f"A friend of mine lives in {city} now", 1 - place / 100) for place, city in enumerate(cities)]
    rows, shelf = ranked(*said)

    assert diversify(rows, shelf, 1.0) == rows


def test_equal_words_of_two_speakers_are_not_similar():
    """The question may be who likes tea."""
    rows, shelf = ranked(("Maria: I like green tea", 1.0), ("John: I like green tea", 0.9), ("It rained", 0.7))

    assert diversify(rows, shelf, 0.5) == rows


@given(
    st.lists(
        st.tuples(st.sampled_from(["tea", "tea tea", "green tea", "", "a dog", "茶が好き"]), st.floats(0, 2)),
        max_size=DIVERSITY_WINDOW + 10,
    ),
    st.floats(0, 1),
)
def test_diversity_loses_no_fact_and_keeps_falling_totals(rows, weight):
    """No total rises."""
    placed, shelf = ranked(*rows)
    given_rows = sorted(placed, key=lambda item: -item.total)
    found = diversify(given_rows, shelf, weight)

    assert sorted(places(found)) == sorted(places(given_rows))
    totals = [item.total for item in found]
    assert totals == sorted(totals, reverse=True)
    before = {item.fact_id: item.total for item in given_rows}
    assert all(item.total <= before[item.fact_id] for item in found)
