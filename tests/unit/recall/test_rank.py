"""Stages and vectors add up; no fact is lost or duplicated."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.ranking.rank import RankedFact, count_relevant, rank
from support.factories import make_fact
from support.recall_parts import matches_of, matrix_of, recall_config

IDS = [f"f{number}" for number in range(12)]
TEXTS = st.sampled_from(["tea", "green tea", "the dog Rex", "nothing of it", "tea? tea!", "a dog and tea", ""])
SCORES = st.dictionaries(st.sampled_from(IDS), st.floats(-1e6, 1e6), max_size=12)
FOUND = st.builds(matches_of, SCORES)
NOTHING = VectorMatches()
PLACES = st.tuples(st.sampled_from([None, "s", "t"]), st.integers(0, 6))
FACTS = st.lists(st.tuples(TEXTS, PLACES), min_size=len(IDS), max_size=len(IDS))
ASKED = "which tea did the dog like?"


def facts_of(rows):
    return [
        make_fact(fact_id, text, session=session, seq=seq)
        for fact_id, (text, (session, seq)) in zip(IDS, rows, strict=True)
    ]


def ranked(facts, found, asked=ASKED, **settings):
    question, pool = matrix_of(asked, facts)
    return rank(question, pool, found, recall_config(**settings))


def order(*args, **settings):
    return [item.fact_id for item in ranked(*args, **settings)]


@given(FACTS, FOUND)
def test_every_candidate_is_ranked_exactly_once(rows, found):
    """Whatever vectors are near, nothing of it is lost or doubled."""
    ids = order(facts_of(rows), found)

    assert len(ids) == len(set(ids))
    assert set(ids) >= set(found.scores)


@given(FACTS, FOUND, st.randoms())
def test_the_order_of_the_input_does_not_matter(rows, found, random):
    """Retrievers may answer in any order."""
    facts = facts_of(rows)
    once = order(facts, found)
    random.shuffle(facts)
    again = replace(found, scores=dict(random.sample(sorted(found.scores.items()), len(found.scores))))

    assert order(facts, again) == once


def test_words_lead_and_vectors_decide_between_similar_facts():
    """The best match by words stays first; a real embedder reorders close ones."""
    facts = [make_fact("best", "green tea"), make_fact("near", "a green hat"), make_fact("nearer", "a green mat")]

    assert order(facts, NOTHING, "green tea") == ["best", "near", "nearer"]
    assert order(facts, matches_of({"nearer": 0.9, "near": 0.5, "best": 0.5}), "green tea") == [
        "best",
        "nearer",
        "near",
    ]


def test_the_number_of_facts_ends_where_the_rest_is_noise():
    """Beside a clear answer one fact is enough, and ten of a kind are all shown; doubt makes no noise."""

    def ranked_by(*totals, doubt=0.0):
        return [
            RankedFact(fact_id=str(place), parts={"keywords": total, "doubt": -doubt}, confidence=1.0)
            for place, total in enumerate(totals)
        ]

    assert count_relevant(ranked_by(1.0, 0.4, 0.3)) == 1
    assert count_relevant(ranked_by(1.0, 0.7, 0.6, 0.5)) == 3
    assert count_relevant(ranked_by(*[1.0] * 20)) == 10
    assert count_relevant([*ranked_by(1.0), *ranked_by(0.9, doubt=0.7)]) == 2
    assert count_relevant([]) == 0
