"""The number of facts depends on the question and on how fast the scores fall."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.ranking.adaptive_limit import BROAD_LIMIT, DEFAULT_LIMIT, NARROW_LIMIT, adaptive_limit

CLEAR = [1.0, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
FALLING = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
LEVEL = [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8]


@pytest.mark.parametrize(
    "question",
    [
        "Which books has Maria read?",
        "what instruments does he play",
        "What musical instruments does he play?",
        "List everything I own",
        "How many times did we go camping?",
        "Where does Noa live? And what does she do?",
        "\u8ab0\u304c\u6765\u307e\u3057\u305f\u304b\uff1f\u3044\u3064\u3067\u3059\u304b\uff1f",
    ],
)
def test_several_things_asked_for_need_ten_facts(question):
    """By English words for several, or by a second question in any language, however clear the first fact is."""
    assert adaptive_limit(question, CLEAR) == BROAD_LIMIT


@pytest.mark.parametrize(
    "question",
    [
        "What is my sister called?",
        "What does Maria do?",
        "Which was it?",
        "What business is it?",
        "\u05d0\u05d9\u05e4\u05d4 \u05d0\u05e0\u05d9 \u05d2\u05e8?",
        "Wo wohnt meine Schwester?",
    ],
)
def test_one_thing_with_a_clear_answer_needs_three(question):
    """In any language: the scores tell."""
    assert adaptive_limit(question, CLEAR) == NARROW_LIMIT


def test_where_no_fact_stands_out_ten_are_returned_and_else_five():
    """Ten that are nearly as good as each other are all shown; five where the scores fall slowly."""
    assert adaptive_limit("Wo wohnt sie?", LEVEL) == BROAD_LIMIT
    assert adaptive_limit("Wo wohnt sie?", FALLING) == DEFAULT_LIMIT


def test_a_long_question_is_no_short_one():
    """Who tells a story before asking wants more than one fact."""
    assert adaptive_limit("x" * 81, CLEAR) == DEFAULT_LIMIT
    assert adaptive_limit("x" * 80, CLEAR) == NARROW_LIMIT


@given(st.text(max_size=200), st.lists(st.floats(0, 3), max_size=40))
def test_the_depth_is_one_of_three(question, scores):
    """Whatever is asked, and however few facts there are."""
    assert adaptive_limit(question, sorted(scores, reverse=True)) in (NARROW_LIMIT, DEFAULT_LIMIT, BROAD_LIMIT)
