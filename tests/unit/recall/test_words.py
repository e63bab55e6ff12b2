"""The words of a question that can point at a fact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.words import MAX_WORDS, coverage, words_of


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What is my sister called?", ["sister", "called"]),
        ("Where does Noa\u2019s mother live?", ["Noa", "mother", "live"]),
        ("who am I", ["who", "am", "I"]),
        ("sister SISTER sister", ["sister"]),
        ("was isst er gern zum Frühstück", ["was", "isst", "er", "gern", "zum", "Frühstück"]),
        ("我妹妹叫什么", ["我妹妹叫什么"]),
        ("?!", []),
    ],
)
def test_function_words_are_dropped_of_english_questions_only_and_never_all(query, words):
    """A question of nothing but function words, or in another language, keeps them."""
    assert words_of(query) == words


@given(st.text(max_size=300))
def test_any_question_gives_bounded_words(query):
    """Neither a pasted page nor odd signs trouble the index."""
    assert len(words_of(query)) <= MAX_WORDS


@pytest.mark.parametrize(
    ("words", "text", "share"),
    [
        (["sister", "called"], "Her sisters are tall", 0.5),
        (["moved"], "User is moving to Berlin", 1.0),
        (["cat"], "User likes caterpillars", 0.0),
        (["妹妹叫什么"], "用户的妹妹叫诺亚", 0.5),
        ([], "anything", 0.0),
    ],
)
def test_coverage_is_the_share_of_the_words_a_text_holds(words, text, share):
    """Forms of a word count as the word; of writing without spaces, its pairs of characters."""
    assert coverage(words, text) == share
