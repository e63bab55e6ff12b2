"""The words of a question that can identify a fact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.language.stop_words import MAX_QUESTION_WORDS, content_words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What is my sister called?", ["sister", "called"]),
        ("Where does Noa\u2019s mother live?", ["Noa", "mother", "live"]),
        ("who am I", ["who", "am", "I"]),
        ("sister SISTER sister", ["sister"]),
        ("was isst er gern zum Frühstück", ["was", "isst", "er", "gern", "zum", "Frühstück"]),
        ("Which wi-fi, Jean-Luc?", ["wi-fi", "Jean-Luc"]),
        ("the \U0001f984", ["\U0001f984"]),
        ("?!", []),
    ],
)
def test_function_words_are_dropped_from_english_questions_unless_nothing_is_left(query, words):
    """Questions in other languages keep theirs."""
    assert content_words(query) == words


@given(st.text(max_size=300))
def test_any_question_gives_a_limited_number_of_words(query):
    """This includes pasted pages and unusual characters."""
    assert len(content_words(query)) <= MAX_QUESTION_WORDS
