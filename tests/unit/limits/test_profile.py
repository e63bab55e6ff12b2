"""How roughly a profile is ranked and measured."""

from __future__ import annotations

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.profile.fallback import fallback_bullets


def test_without_a_model_a_profile_is_ranked_by_keywords() -> None:
    """It does not understand that "never" belongs to a film here, and ranks it as a need."""
    assert fallback_bullets(["Has never seen Star Wars", "Likes teal"], []) == (
        "Has never seen Star Wars",
        "Likes teal",
    )


def test_tokens_are_estimated_from_characters() -> None:
    """No tokenizer of a model is asked: three letters count as one token, also where a model needs fewer."""
    assert estimate_tokens("international" * 3) == 13
