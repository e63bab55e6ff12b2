"""Which words of a person name a fact."""

from __future__ import annotations

import pytest

from gaia_memory.language.distinctive_words import shares_distinctive_word


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("forget my old addresses", "Old address: 12 Rose Street"),
        ("forget my allergies", "is allergic to gluten"),
        ("vergiss meine Nüsse", "Isst gern eine Nuss"),
        ("olvida mis direcciones", "mi dirección es Calle Mayor 3"),
    ],
)
def test_a_word_in_another_form_names_a_fact(message, fact):
    """Plurals and irregular forms, in four languages."""
    assert shares_distinctive_word(message, fact)


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("The internet is slow", "Works in international law"),
        ("Ich bin halt unterwegs", "Zahlt Unterhalt"),
        ("Nice weather", "Lives at 12 Rose Street"),
        ("I like old things", "Likes old cars"),
    ],
)
def test_a_common_word_or_beginning_names_none(message, fact):
    """A model would be allowed to delete what the person did not speak of."""
    assert not shares_distinctive_word(message, fact)
