"""Stages and vectors add up; no fact is lost or duplicated, and hashed vectors never outvote words."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.ranking.rank import rank
from support.factories import NOON, make_fact
from support.recall_parts import matches_of, matrix_of, recall_config

IDS = [f"f{number}" for number in range(12)]
TEXTS = st.sampled_from(["tea", "green tea", "the dog Rex", "nothing of it", "tea? tea!", "a dog and tea", ""])
SCORES = st.dictionaries(st.sampled_from(IDS), st.floats(-1e6, 1e6), max_size=12)
FOUND = st.builds(lambda scores, is_fallback: matches_of(scores, is_fallback=is_fallback), SCORES, st.booleans())
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
    return rank(question, pool, found, NOON, recall_config(**settings))


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


@given(FACTS, SCORES)
def test_hashed_vectors_never_outrank_words(rows, hashed):
    """Facts found by words keep their order, and those found only by hashes follow."""
    without = order(facts_of(rows), NOTHING, recency=0)

    assert order(facts_of(rows), matches_of(hashed, is_fallback=True), recency=0)[: len(without)] == without


def test_hashed_vectors_rank_facts_if_no_word_matches():
    """They tolerate a typo."""
    facts = [make_fact("a", "likes tee"), make_fact("b", "likes teas")]

    assert order(facts, matches_of({"a": 0.3, "b": 0.6}, is_fallback=True), "teaa") == ["b", "a"]


def test_words_lead_and_vectors_decide_between_similar_facts():
    """The best match by words stays first; a real embedder reorders close ones."""
    facts = [make_fact("best", "green tea"), make_fact("near", "a green hat"), make_fact("nearer", "a green mat")]

    assert order(facts, NOTHING, "green tea") == ["best", "near", "nearer"]
    assert order(facts, matches_of({"nearer": 0.9, "near": 0.5, "best": 0.5}), "green tea") == [
        "best",
        "nearer",
        "near",
    ]


def test_of_equal_facts_the_newest_and_then_the_lowest_id_comes_first():
    """Recency counts so little that it decides only between near equals."""
    facts = [
        make_fact("old", "likes tea", said_at=NOON - timedelta(days=400)),
        make_fact("b", "likes tea", said_at=NOON),
        make_fact("a", "likes tea", said_at=NOON),
        make_fact("best", "tea tea tea", said_at=NOON - timedelta(days=400)),
    ]

    assert order(facts, NOTHING, "tea") == ["best", "a", "b", "old"]
    assert order(facts, NOTHING, "tea", recency=0) == ["best", "a", "b", "old"]
