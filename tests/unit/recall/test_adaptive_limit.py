"""The number of facts depends on the question and on how fast the scores fall."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.ranking.rank import BROAD_LIMIT, DEFAULT_LIMIT, NARROW_LIMIT, adaptive_limit

CLEAR = [1.0, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
FALLING = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
LEVEL = [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8]


@pytest.mark.parametrize(
    "question",
    [
        "Which books has Maria read?",
        "What musical instruments does he play?",
        "How many times did we go camping?",
        "Where does Noa live? And what does she do?",
        "\u8ab0\u304c\u6765\u307e\u3057\u305f\u304b\uff1f\u3044\u3064\u3067\u3059\u304b\uff1f",
    ],
)
def test_a_question_for_several_things_returns_ten_facts(question):
    """English words or a second question in any language show it, however clear the first fact is."""
    assert adaptive_limit(question, CLEAR) == BROAD_LIMIT


@pytest.mark.parametrize("question", ["What is my sister called?", "Which was it?", "Wo wohnt meine Schwester?"])
def test_a_question_with_one_clear_answer_returns_three_facts(question):
    """The scores decide, so this works in any language."""
    assert adaptive_limit(question, CLEAR) == NARROW_LIMIT


def test_without_a_clear_answer_ten_or_five_facts_are_returned():
    """Ten are returned if their scores are close, and five if they fall slowly."""
    assert adaptive_limit("Wo wohnt sie?", LEVEL) == BROAD_LIMIT
    assert adaptive_limit("Wo wohnt sie?", FALLING) == DEFAULT_LIMIT


def test_a_long_question_returns_more_than_three_facts():
    """It usually tells a story and needs more than one fact."""
    assert adaptive_limit("x" * 81, CLEAR) == DEFAULT_LIMIT
    assert adaptive_limit("x" * 80, CLEAR) == NARROW_LIMIT


@given(st.text(max_size=200), st.lists(st.floats(0, 3), max_size=40))
def test_the_limit_is_one_of_three_values(question, scores):
    """This holds for any question and any number of facts."""
    assert adaptive_limit(question, sorted(scores, reverse=True)) in (NARROW_LIMIT, DEFAULT_LIMIT, BROAD_LIMIT)
