"""Of statements that say nearly the same, the newest comes first."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.ranking.near_equal import newest_first
from gaia_memory.recall.ranking.rank import RankedFact
from support.factories import NOON, make_fact
from support.recall_parts import columns_of


def ordered(*rows):
    """Return the places of facts given as text, total and age in days, in the order that they get, and their totals."""
    facts = [
        make_fact(f"f{place:03}", text, said_at=NOON - timedelta(days=age)) for place, (text, _, age) in enumerate(rows)
    ]
    placed = [
        RankedFact(fact_id=each.id, parts={"keywords": total}, confidence=1.0)
        for each, (_, total, _) in zip(facts, rows, strict=True)
    ]
    found = newest_first(placed, columns_of(facts))
    return [int(item.fact_id[1:]) for item in found], [item.total for item in found]


OTHERS = [("The new flat in Oslo has a balcony", 0.6, 5), ("My sister visited me in Rome", 0.5, 5)]


def test_the_newest_of_near_equal_statements_takes_the_best_place():
    """Facts in between keep theirs, and the totals fall as before."""
    places, totals = ordered(
        ("I weigh 82 kg this morning", 1.0, 30),
        ("We went to Berlin", 0.9, 1),
        ("This morning I weigh 82 kg!", 0.8, 2),
        *OTHERS,
    )

    assert places == [2, 1, 0, 3, 4]
    assert totals == [1.0, 0.9, 0.8, 0.6, 0.5]


def test_statements_of_one_day_keep_their_order():
    """Then the better match comes first."""
    assert ordered(("I like green tea", 1.0, 3), ("I like green tea!", 0.9, 3), *OTHERS)[0] == [0, 1, 2, 3]


def test_facts_of_the_same_form_about_different_things_keep_their_order():
    """The differing words matter: a list of who lives where."""
    cities = ("Rome", "Oslo", "Cairo", "Lima", "Kyoto", "Perth", "Quito", "Malmo")
    said = [(f"A friend of mine lives in {city} now", 1 - place / 100, 9 - place) for place, city in enumerate(cities)]

    assert ordered(*said)[0] == list(range(len(cities)))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tea", "tea tea", "green tea", "", "a dog", "\u8336\u304c\u597d\u304d"]),
            st.floats(0, 2),
            st.integers(0, 3),
        ),
        max_size=60,
    )
)
def test_no_fact_is_lost_and_totals_keep_falling(rows):
    """Facts change places only."""
    given_rows = sorted(rows, key=lambda row: -row[1])
    places, totals = ordered(*given_rows)

    assert sorted(places) == list(range(len(rows)))
    assert all(abs(total - row[1]) < 1e-9 for total, row in zip(totals, given_rows, strict=True))
