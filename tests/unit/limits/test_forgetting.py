"""Disguises in which a forgotten text is not recognised."""

from __future__ import annotations

import pytest

from gaia_memory.facts.identity.text_identity import tombstone_forms
from gaia_memory.language.distinctive_words import distinctive_stems


@pytest.mark.parametrize(
    "disguised",
    [
        pytest.param("Likes gr\u2c89en tea", id="Coptic letter"),
        pytest.param("Likes gr33n tea", id="digits for letters"),
        pytest.param("Likes gr&#101;en tea", id="HTML entity"),
    ],
)
def test_a_forgotten_text_in_these_disguises_is_another_text(disguised: str) -> None:
    """Case, spacing, punctuation and look-alike letters of the table in `language.homoglyphs` are recognised."""
    assert tombstone_forms("Likes green tea").isdisjoint(tombstone_forms(disguised))
    assert not tombstone_forms("Likes green tea").isdisjoint(tombstone_forms("Likes gr\u0435en tea"))


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        pytest.param("Has high blood pressure", "Suffers from hypertension", id="synonym"),
        pytest.param("Lives in Cologne", "Wohnt in Köln", id="translation"),
        pytest.param("Bought a house", "Purchased his home", id="irregular verb"),
    ],
)
def test_a_synonym_or_translation_of_a_forgotten_fact_shares_no_word_with_it(forgotten: str, said: str) -> None:
    """Only words are compared, truncated to five letters."""
    assert distinctive_stems(forgotten).isdisjoint(distinctive_stems(said))
