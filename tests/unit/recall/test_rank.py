"""Stages and retrievers add up; no fact is lost or duplicated, and hashed vectors never outvote words."""

import math
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.models import index_fact
from gaia_memory.recall.index.candidates import build_candidate_matrix
from gaia_memory.recall.query.parsed_query import parse_query
from gaia_memory.recall.ranking.rank import rank
from gaia_memory.recall.settings import RecallSettings
from support.factories import NOON, make_fact

IDS = [f"f{number}" for number in range(12)]
TEXTS = st.sampled_from(["tea", "green tea", "the dog Rex", "nothing of it", "tea? tea!", "a dog and tea", ""])
SCORES = st.dictionaries(st.sampled_from(IDS), st.floats(-1e6, 1e6), max_size=12)
FOUND = st.dictionaries(st.sampled_from(["keywords", "vectors", "hashed", "graph"]), SCORES)
PLACES = st.tuples(st.sampled_from([None, "s", "t"]), st.integers(0, 6))
FACTS = st.lists(st.tuples(TEXTS, PLACES), min_size=len(IDS), max_size=len(IDS))
ASKED = "which tea did the dog like?"


def facts_of(rows):
    return [
        make_fact(fact_id, text, session=session, seq=seq)
        for fact_id, (text, (session, seq)) in zip(IDS, rows, strict=True)
    ]


def ranked(facts, found, asked=ASKED, *, rarity=None, **settings):
    question = parse_query(asked)
    pool = build_candidate_matrix(question, rarity or [1.0] * len(question.terms), list(map(index_fact, facts)))
    return rank(question, pool, found, NOON, RecallSettings(**settings))


def order(*args, **settings):
    return [item.fact_id for item in ranked(*args, **settings)]


@given(FACTS, FOUND)
def test_every_found_fact_comes_out_exactly_once(rows, found):
    """Whatever retrievers answer, nothing of it is lost or doubled."""
    ids = order(facts_of(rows), found)

    assert len(ids) == len(set(ids))
    assert set(ids) >= {fact_id for scores in found.values() for fact_id in scores}


@given(FACTS, FOUND, st.randoms())
def test_the_order_of_what_comes_in_does_not_matter(rows, found, random):
    """Who answers first changes nothing."""
    facts = facts_of(rows)
    once = order(facts, found)
    random.shuffle(facts)
    again = {name: dict(random.sample(sorted(found[name].items()), len(found[name]))) for name in reversed(found)}

    assert order(facts, again) == once


@given(FACTS, FOUND)
def test_parts_are_finite_and_only_asking_takes_something_away(rows, found):
    """Being found never harms, no score breaks the sum, and no total falls below nothing."""
    for item in ranked(facts_of(rows), found):
        assert all(0 <= part < math.inf for name, part in item.parts.items() if name != "asking")
        assert -math.inf < item.parts.get("asking", 0.0) <= 0 <= item.total


@given(FACTS, SCORES)
def test_hashed_vectors_never_outvote_the_words(rows, hashed):
    """What the words found keeps its order, and what only hashes found comes after it."""
    without = order(facts_of(rows), {}, recency=0)

    assert order(facts_of(rows), {"hashed": hashed}, recency=0)[: len(without)] == without


def test_hashed_vectors_answer_where_the_words_find_nothing():
    """A typo is better answered by parts of words than not at all."""
    facts = [make_fact("a", "likes tee"), make_fact("b", "likes teas")]

    assert order(facts, {"hashed": {"a": 0.3, "b": 0.6}}, "teaa") == ["b", "a"]


def test_the_words_lead_and_vectors_decide_between_near_equals():
    """The best match by words stays first; a real embedder moves what lies close behind."""
    facts = [make_fact("best", "green tea"), make_fact("near", "a green hat"), make_fact("nearer", "a green mat")]

    assert order(facts, {}, "green tea") == ["best", "near", "nearer"]
    assert order(facts, {"vectors": {"nearer": 0.9, "near": 0.5, "best": 0.5}}, "green tea") == [
        "best",
        "nearer",
        "near",
    ]


def test_with_everything_but_vectors_off_the_order_is_that_of_the_cosine():
    """As the mem0 store alone would give it."""
    off = dict.fromkeys(
        (
            "keywords",
            "surroundings",
            "conversation",
            "phrases",
            "speaker",
            "subject",
            "dates",
            "kinds",
            "asking",
            "recency",
        ),
        0.0,
    )
    facts = [make_fact("a", "tea"), make_fact("b", "dog tea"), make_fact("c", "none")]

    assert order(facts, {"vectors": {"a": 0.1, "b": 0.4, "c": 0.8}}, "tea dog", **off) == ["c", "b", "a"]


def test_what_only_the_index_found_stays_below_what_the_stages_found():
    """The index knows forms of a word that they do not; what it found is not dropped for that."""
    facts = [make_fact("a", "green tea"), make_fact("odd", "teaish"), make_fact("odder", "teaishness")]

    assert order(facts, {"keywords": {"odd": 7.0, "odder": 9.0}}, "tea") == ["a", "odder", "odd"]


def test_of_equal_facts_the_one_said_lately_comes_first_and_then_the_lower_id():
    """By so little that it only decides between near equals, and never wavers."""
    facts = [
        make_fact("old", "likes tea", said_at=NOON - timedelta(days=400)),
        make_fact("b", "likes tea", said_at=NOON),
        make_fact("a", "likes tea", said_at=NOON),
        make_fact("best", "tea tea tea", said_at=NOON - timedelta(days=400)),
    ]

    assert order(facts, {}, "tea") == ["best", "a", "b", "old"]
    assert order(facts, {}, "tea", recency=0) == ["best", "a", "b", "old"]
