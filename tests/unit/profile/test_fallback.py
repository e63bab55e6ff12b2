"""Without a model a profile is the facts themselves, ranked and bounded."""

import pytest

from gaia_memory.profile.bullets import MAX_CHARACTERS
from gaia_memory.profile.fallback import plain_bullets


@pytest.mark.acceptance("P07")
def test_what_matters_most_comes_first():
    """Who they are, their people, needs, doings, tastes, and then the rest, the newest first."""
    facts = [
        "Saw a heron",
        "Likes tea",
        "Is planning a trip",
        "Allergic to nuts",
        "Sister works at a bank",
        "Name is Itay",
        "Saw a swan",
    ]

    assert plain_bullets(facts, ["gym site (running)"], limit=20) == (
        "Name is Itay",
        "Sister works at a bank",
        "Allergic to nuts",
        "Is planning a trip",
        "gym site (running)",
        "Likes tea",
        "Saw a swan",
        "Saw a heron",
    )


@pytest.mark.acceptance("P08")
def test_three_hundred_facts_are_cut_to_the_limit():
    """The block stays bounded, and so does each line; what matters is not cut off."""
    facts = ["Allergic to nuts", *(f"fact {number} " + "x" * 1000 for number in range(300))]
    bullets = plain_bullets(facts, [], limit=20)

    assert len(bullets) == 20
    assert bullets[0] == "Allergic to nuts"
    assert max(map(len, bullets)) == MAX_CHARACTERS
