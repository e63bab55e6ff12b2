"""The tokenizer of the keyword index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.language.text_features import extract_features
from gaia_memory.language.tokenizer import compound_tokens, index_tokens, query_tokens
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle
from gaia_memory.redaction.credentials import contains_credential
from support.running_time import assert_linear


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sørensen", "sorensen"),
        ("Æther Þór", "aether thor"),
        ("İstanbul", "istanbul"),
        ("Straße", "STRASSE"),
        ("Zu\u0308rich", "Zürich"),
        ("❤️", "❤"),
    ],
)
def test_different_spellings_of_a_word_give_equal_tokens(one, other):
    """Examples are letters with strokes, ligatures, accents and variants of emoji."""
    assert index_tokens(one) == index_tokens(other) != []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the Wi-Fi, and e\u2011mail", ["wifi", "email"]),
        ("my mother-in-law's dog", ["motherinlaw"]),
        ("O'Shaughnessy and L\u2019Oréal", ["oshaughnessy", "loreal"]),
        ("order AB-2931-XQ", ["ab2931xq"]),
        ("2 - 3 apples, 12-34", []),
        ("code 234-567, 3.14.159 and SN_88x-9/a7", ["88x9", "234567", "314159", "sn88x9a7"]),
        ("at 00:1A:2B:3C:4D:5E", ["001a2b3c4d5e"]),
        ("cost 10,000 or 1,250,000, not 1,2 or 1,0000", ["10000", "1250000"]),
        ("82 kg at 7 am on LH 1234, in 2023", ["82kg", "7am", "lh1234"]),
        ("12'345'678 or 1.250 and 4,870 mAh", ["12345678", "1250", "4870", "4870mah"]),
        ('\u05e6\u05d4"\u05dc and \u05d0\u05e8\u05d4\u05f4\u05d1', ["\u05e6\u05d4\u05dc", "\u05d0\u05e8\u05d4\u05d1"]),
        ("+49 (151) 234-567", ["49151234567", "1234567"]),
        ("٠١٢٣٤٥٦٧", ["01234567", "1234567"]),
        ("", []),
    ],
)
def test_compounds_and_grouped_numbers_also_become_one_token(text, words):
    """Hyphens and separators are removed; phone numbers also give their last seven digits."""
    assert compound_tokens(text) == words


@given(st.text(max_size=200))
def test_every_token_contains_only_letters_and_digits(text):
    """The index would split it elsewhere, and the scope prefix would cover its first part only."""
    for word in (*index_tokens(text), *compound_tokens(text), *query_tokens(text)):
        assert all(char.isalnum() for char in word)
        assert word == word.casefold()


@given(st.text(max_size=200))
def test_query_tokens_are_a_subset_of_index_tokens(text):
    """A text is found by its own words."""
    assert set(query_tokens(text)) <= set(index_tokens(text))


LONG = ["1-", "a.b.", "1,111,", "AB 12 ", "1 x "]


@pytest.mark.parametrize("piece", LONG)
@pytest.mark.parametrize(
    "reads",
    [lambda text: extract_features(text, None), lambda text: parse_query(truncate_middle(text)), contains_credential],
)
def test_the_running_time_is_linear_in_the_length_of_a_text(piece, reads):
    """A text of a hundred thousand characters must not block other users."""

    assert_linear(lambda count: reads(piece * count), 2_000)
