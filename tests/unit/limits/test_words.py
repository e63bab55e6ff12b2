"""Spellings of a word that recall takes for a different word."""

from __future__ import annotations

import pytest

from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.recall.phone_numbers import find_phone_numbers
from support.factories import make_fact
from support.recall_parts import matrix_of


def finds(question: str, text: str) -> bool:
    """Say whether a word of `text` answers a word of `question`."""
    _, matrix = matrix_of(question, [make_fact("a", text)])
    return bool(matrix.has_term.any())


@pytest.mark.parametrize(("question", "text"), [("555", "5-55")])
def test_a_number_of_fewer_than_five_digits_has_one_spelling(question: str, text: str) -> None:
    """Longer ones are found with and without their hyphens."""
    assert not finds(question, text)
    assert finds("493817", "493-817")


@pytest.mark.parametrize(("question", "text"), [("QX77PLM", "QX 77 PLM")])
def test_a_code_with_spaces_is_not_found_without_them(question: str, text: str) -> None:
    """Only units and short letter codes before a number are joined, such as "82 kg" and "LH 1234"."""
    assert not finds(question, text)
    assert finds("82kg", "82 kg")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        pytest.param("טלפונים", "טלפון", id="Hebrew plural"),
        pytest.param("كتب", "كتاب", id="Arabic broken plural"),
    ],
)
def test_a_form_that_no_stemmer_knows_is_another_word(question: str, text: str) -> None:
    """Snowball stems endings of English, Russian, Greek, Armenian and Arabic, but nothing inside a word."""
    assert not finds(question, text)


@pytest.mark.parametrize(("question", "text"), [("漢語", "汉语"), ("さくら", "サクラ")])
def test_a_word_in_another_script_is_another_word(question: str, text: str) -> None:
    """Traditional and simplified Han, hiragana and katakana."""
    assert not finds(question, text)


@pytest.mark.parametrize(("question", "text"), [("cofee", "coffee")])
def test_a_misspelt_word_is_another_word(question: str, text: str) -> None:
    """There is no comparison by edit distance."""
    assert not finds(question, text)


@pytest.mark.parametrize(("question", "text"), [("mueller", "Müller")])
def test_two_letters_are_an_umlaut_only_in_a_capitalised_word_of_five(question: str, text: str) -> None:
    """So that "poet" does not find "pöt"."""
    assert not finds(question, text)
    assert finds("Mueller", "Müller")


def test_short_phone_numbers_have_one_spelling() -> None:
    """From seven digits on a number is found in any grouping."""
    assert not finds("123456", "12 34 56")
    assert finds("1234567", "12 34 567")


def test_phone_numbers_are_compared_by_their_last_seven_digits() -> None:
    """A country or area code is often left out, so two numbers that differ only there match."""
    assert finds("+49 30 2345678", "+44 20 2345678")


def test_a_contact_has_at_least_eight_digits() -> None:
    """Fewer are a year, a date or a short id."""
    assert find_phone_numbers("Call me at 555 1234") == []
    assert find_phone_numbers("Call me at 555 12345") == ["55512345"]


def test_only_the_first_ten_thousand_words_of_a_fact_are_indexed() -> None:
    """Words are cut to 64 characters."""
    assert len(index_tokens("tea " * 10_001)) == 10_000
    assert index_tokens("x" * 65) == ["x" * 64]
