"""What a profile without a model does not do."""

from __future__ import annotations

from gaia_memory.profile.distil import fallback_bullets
from support.factories import make_fact


def test_without_a_model_a_profile_is_ranked_by_source_and_age() -> None:
    """It does not read the facts: an old allergy comes after the newest trifle."""
    known = [make_fact("a", "Allergic to nuts"), make_fact("b", "Saw a heron")]

    assert fallback_bullets(known, []) == ("Saw a heron", "Allergic to nuts")
