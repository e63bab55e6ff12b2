"""A score is between 0 and 1 and is the sum of its reasons; each weight can be switched off."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.config.sections.recall_section import RecallWeights
from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.ranking.near_equal import newest_first
from gaia_memory.recall.ranking.rank import RankedFact, rank, to_hits
from gaia_memory.recall.ranking.rerank import blend_reranker_scores
from support.factories import NOON, make_fact
from support.recall_parts import matches_of, matrix_of, recall_config

STAGES = (
    *("keywords", "vectors", "surroundings", "conversation", "speaker", "subject", "names", "dates"),
    "asking",
)
TEXTS = st.sampled_from(
    [
        *("Maria: green tea in May", "Maria likes tea", "John admires Maria", "tea? Really?", "two cups on Monday"),
        *("a dog called Rex", "nothing of it", "\u8336\u304c\u597d\u304d", "", "Maria: do you like green tea?"),
    ]
)
PLACES = st.tuples(st.sampled_from([None, "s", "t"]), st.integers(0, 6), st.integers(0, 900))
ROWS = st.lists(st.tuples(TEXTS, PLACES), min_size=1, max_size=10)
ASKED = st.sampled_from(
    ["Which green tea did Maria like in May 2024?", "when did the dog drink tea", "Rex", "\u8336", "how many cups?"]
)
SCORES = st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=10, max_size=10)
SHARES = ("asking",)
WEIGHTS = st.builds(
    lambda points, shares: {**points, **shares},
    # Smaller ones are lost beside the rounding of the others.
    st.fixed_dictionaries(
        {name: st.one_of(st.just(0.0), st.floats(1e-3, 10)) for name in STAGES if name not in SHARES}
    ),
    # Nearer to 1, what is left of a question is nothing but the rounding of floats.
    st.fixed_dictionaries({name: st.one_of(st.floats(0, 0.99), st.just(1.0)) for name in SHARES}),
)


def facts_of(rows):
    return [
        make_fact(f"f{place}", text, session=session, seq=seq, said_at=NOON - timedelta(days=days))
        for place, (text, (session, seq, days)) in enumerate(rows)
    ]


def found_in(facts, scores):
    return matches_of({each.id: score for each, score in zip(facts, scores, strict=False) if score})


def recalled(facts, asked, found, *, lines=(), scores=None, share=1.0, **weights):
    """Return the hits of the pipeline without a store."""
    query, pool = matrix_of(asked, facts, lines=lines)
    known = {each.id: each for each in facts}
    placed = rank(query, pool, found, recall_config(**weights))
    level = max((each.confidence for each in placed), default=0.0)
    if scores is not None:
        placed = blend_reranker_scores(placed, scores[: len(placed)], share)
    return to_hits(newest_first(placed, pool.columns), known, level)


@given(
    ROWS,
    ASKED,
    SCORES,
    WEIGHTS,
    st.lists(st.sampled_from(["cups", "green dog"]), max_size=2),
    st.floats(0, 1),
)
def test_the_reasons_add_up_to_the_score(rows, asked, vectors, weights, lines, share):
    """Scores fall from at most 1 to at least 0, for any weights, expansions and reranker scores."""
    facts = facts_of(rows)
    hits = recalled(
        facts, asked, found_in(facts, vectors), lines=lines, scores=[3.0, -1.0, 2.0], share=share, **weights
    )

    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert -1e-9 <= hit.score <= 1 + 1e-9
        assert sum(hit.why.values()) == pytest.approx(hit.score, abs=1e-9)


@given(stage=st.sampled_from(STAGES), rows=ROWS, asked=ASKED, vectors=SCORES, weights=WEIGHTS)
def test_a_weight_of_0_removes_its_part_from_every_reason(stage, rows, asked, vectors, weights):
    """The stage is then off."""
    facts = facts_of(rows)
    hits = recalled(facts, asked, found_in(facts, vectors), **{**weights, stage: 0.0})

    assert all(stage not in hit.why for hit in hits)


OFF = dict.fromkeys(STAGES, 0.0)
PAIRS = {
    "keywords": (
        "tea",
        [make_fact("a", "a cup of tea on a very long way"), make_fact("b", "tea")],
        {"a": 0.9, "b": 0.8},
    ),
    "vectors": ("tea", [make_fact("a", "tea"), make_fact("b", "tea")], {"a": 0.1, "b": 0.9}),
    "surroundings": (
        "green tea",
        [make_fact("a", "tea"), make_fact("b", "tea", session="s", seq=1), make_fact("c", "green", session="s", seq=4)],
        {},
    ),
    "conversation": (
        "green tea",
        [make_fact("a", "tea"), make_fact("b", "tea", session="s", seq=1), make_fact("c", "green", session="s", seq=9)],
        {},
    ),
    "speaker": ("What tea does Maria like?", [make_fact("a", "John: tea"), make_fact("b", "Maria: tea")], {}),
    "subject": ("What tea does Maria like?", [make_fact("a", "tea for Maria"), make_fact("b", "Maria likes tea")], {}),
    "names": (
        "Which tea is from Assam?",
        [make_fact("a", "tea, tea"), make_fact("b", "Somebody went to Assam last winter")],
        {},
    ),
    "dates": (
        "tea in January 2023",
        [make_fact("a", "tea", said_at=NOON), make_fact("b", "tea", said_at=NOON.replace(year=2023, month=1))],
        {},
    ),
    "asking": ("tea", [make_fact("a", "tea?"), make_fact("b", "tea")], {}),
}


@pytest.mark.parametrize("stage", PAIRS)
def test_each_stage_can_change_the_order(stage):
    """It lifts the fact that it favours, which otherwise ranks second."""
    asked, facts, cosines = PAIRS[stage]
    vectors = matches_of(cosines)
    others = {"vectors": 0.02} if stage == "keywords" else {"keywords": 1.0}

    def order(weight):
        hits = recalled(facts, asked, vectors, **{**OFF, **others, stage: weight})
        return [hit.fact.id for hit in hits if hit.fact.id in "ab"]

    assert (order(getattr(RecallWeights(), stage) or 0.5), order(0.0)) == (["b", "a"], ["a", "b"])


def test_every_stage_is_tested():
    """A new stage needs a pair."""
    assert set(RecallWeights.model_fields) == set(PAIRS) == set(STAGES)


def test_the_score_uses_the_similarity_of_a_candidate_and_not_its_contrast():
    """A contrast may be high if no fact fits, and low if all do."""
    facts = [make_fact("a", "tea")]
    found = VectorMatches(scores={"a": 0.9}, cosines={"a": 0.3})

    assert [hit.score for hit in recalled(facts, "which drink", found, vectors=1.0)] == [pytest.approx(0.3)]


def test_parts_that_cancel_out_give_a_score_of_zero():
    """Rounding errors would otherwise be divided by a tiny sum."""
    parts = {"keywords": 0.1, "surroundings": 0.2, "asking": -0.3}
    assert sum(parts.values()) > 0

    [hit] = to_hits([RankedFact(fact_id="f0", parts=parts, confidence=1.0)], {"f0": make_fact("f0", "tea?")}, 0.2)

    assert (hit.score, set(hit.why.values())) == (0.0, {0.0})
