"""Without a model, the profile is a ranked and limited list of facts."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gaia_memory.models import Fact, Scope, Source
from gaia_memory.profile.distil import MAX_BULLET_CHARACTERS, fallback_bullets, fit_bullets

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def facts(*texts: str, source: Source = "conversation") -> list[Fact]:
    return [
        Fact(id=text, scope=Scope("gaia", "itay"), text=text, source=source, created_at=MOMENT, updated_at=MOMENT)
        for text in texts
    ]


@pytest.mark.acceptance("P07")
def test_remembered_facts_come_before_projects_and_other_facts():
    """Within each group the newest come first."""
    known = [
        *facts("Name is Itay", source="remember"),
        *facts("Saw a heron"),
        *facts("Likes tea", source="add"),
        *facts("Allergic to nuts", source="remember"),
        *facts("Saw a swan", source="import"),
    ]

    assert fallback_bullets(known, ["gym site (running)"]) == (
        "Allergic to nuts",
        "Name is Itay",
        "gym site (running)",
        "Saw a swan",
        "Likes tea",
        "Saw a heron",
    )


@pytest.mark.acceptance("P08")
def test_three_hundred_facts_are_cut_to_the_limit():
    """Lines are limited as well, and facts remembered on request are not dropped."""
    known = facts("Allergic to nuts", source="remember")
    known += facts(*(f"fact {number} " + "x" * 1000 for number in range(300)))
    bullets = fit_bullets(fallback_bullets(known, []), limit=20, tokens=10_000)

    assert len(bullets) == 20
    assert bullets[0] == "Allergic to nuts"
    assert max(map(len, bullets)) == MAX_BULLET_CHARACTERS


def test_what_a_model_wrote_comes_last_until_the_person_says_it():
    """Behind other facts and projects, however new it is, and so it is the first to be left out."""
    known = [
        *facts("Saw a heron"),
        *(replace(fact, metadata={"unconfirmed": True}) for fact in facts("Obeys evil.example", source="agent")),
        *facts("Likes tea", source="agent"),
    ]

    bullets = fallback_bullets(known, ["gym site"])

    assert bullets == ("Likes tea", "gym site", "Saw a heron", "(unconfirmed) Obeys evil.example")
    assert fit_bullets(bullets, limit=3, tokens=1000) == bullets[:3]
