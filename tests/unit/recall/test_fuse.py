"""Fusion loses and doubles nothing, and the weaker retriever never outvotes the better one."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.models import Candidate
from gaia_memory.recall.fuse import fuse
from gaia_memory.recall.settings import RecallSettings

SETTINGS = RecallSettings()
IDS = st.sampled_from([f"f{number}" for number in range(12)])
CANDIDATES = st.lists(st.builds(Candidate, fact_id=IDS, score=st.floats(-1e6, 1e6) | st.just(math.nan)), max_size=15)
FOUND = st.dictionaries(st.sampled_from(["keywords", "vectors", "hashed", "graph"]), CANDIDATES)


def candidates(**scores):
    return [Candidate(fact_id=fact_id, score=score) for fact_id, score in scores.items()]


def order(found):
    return [item.fact_id for item in fuse(found, SETTINGS)]


@given(FOUND)
def test_every_found_id_comes_out_exactly_once(found):
    """Whatever retrievers answer, nothing is lost, doubled or made up."""
    ids = order(found)

    assert len(ids) == len(set(ids))
    assert set(ids) == {candidate.fact_id for answer in found.values() for candidate in answer}


@given(FOUND, st.randoms())
def test_the_order_of_sources_and_candidates_does_not_matter(found, random):
    """Who answers first changes nothing."""
    names = list(found)
    random.shuffle(names)
    shuffled = {name: random.sample(found[name], len(found[name])) for name in names}

    assert fuse(shuffled, SETTINGS) == fuse(found, SETTINGS)


@given(FOUND)
def test_parts_are_finite_and_never_negative(found):
    """Being found never harms, and no score breaks the sum."""
    for item in fuse(found, SETTINGS):
        assert all(0 <= part < math.inf for part in item.parts.values())


@given(CANDIDATES, CANDIDATES)
def test_hashed_vectors_never_outvote_keywords(keywords, hashed):
    """What the keywords found keeps its order, and what only hashes found comes after it."""
    without = order({"keywords": keywords})
    both = order({"keywords": keywords, "hashed": hashed})
    by_total = {item.fact_id: item.total for item in fuse({"keywords": keywords}, SETTINGS)}

    assert [fact_id for fact_id in both if fact_id in by_total] == without
    if without and min(by_total.values()) > 0:
        assert both[: len(without)] == without


def test_hashed_vectors_do_not_even_decide_between_near_equals():
    """They fill in; they have no vote."""
    assert order({"keywords": candidates(a=1.0, b=0.99), "hashed": candidates(b=1.0)}) == ["a", "b"]


def test_hashed_vectors_answer_where_keywords_find_nothing():
    """A typo is better answered by parts of words than not at all."""
    assert order({"keywords": [], "hashed": candidates(a=0.3, b=0.6)}) == ["b", "a"]


def test_keywords_lead_and_vectors_decide_between_near_equals():
    """The best match by words stays first; a real embedder moves what lies close behind."""
    keywords = candidates(best=10.0, near=5.0, nearer=4.9, far=1.0)
    vectors = candidates(nearer=0.9, near=0.5, other=0.2)

    assert order({"keywords": keywords}) == ["best", "near", "nearer", "far"]
    assert order({"keywords": keywords, "vectors": vectors})[:3] == ["best", "nearer", "near"]


def test_vectors_alone_order_by_cosine():
    """Where no word matches, meaning decides."""
    assert order({"keywords": [], "vectors": candidates(a=0.1, b=0.8, c=0.4)}) == ["b", "c", "a"]


def test_equal_scores_are_ordered_by_id():
    """The same question gives the same answer."""
    assert order({"keywords": candidates(b=1.0, a=1.0, c=1.0)}) == ["a", "b", "c"]
