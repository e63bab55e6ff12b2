"""Without a model a profile is the facts themselves, ranked and bounded."""

# ruff: noqa: RUF001 - facts in their own scripts

import pytest

from gaia_memory.profile.bullets import MAX_BULLET_CHARACTERS, fit_bullets
from gaia_memory.profile.fact_categories import ACTIVITIES, IDENTITY, NEEDS, OTHER, PEOPLE, TASTES, categorize
from gaia_memory.profile.fallback import fallback_bullets


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

    assert fallback_bullets(facts, ["gym site (running)"]) == (
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
    bullets = fit_bullets(fallback_bullets(facts, []), limit=20, tokens=10_000)

    assert len(bullets) == 20
    assert bullets[0] == "Allergic to nuts"
    assert max(map(len, bullets)) == MAX_BULLET_CHARACTERS


LANGUAGES = {
    "English": (
        "Name is Itay",
        "His wife is Noa",
        "Allergic to nuts",
        "Is building a gym site",
        "Likes tea",
        "Saw a bird",
    ),
    "German": (
        "Heißt Itay",
        "Seine Frau ist Noa",
        "Allergisch gegen Nüsse",
        "Lernt Klavier",
        "Mag Tee",
        "Sah einen Reiher",
    ),
    "Spanish": (
        "Se llama Itay",
        "Su esposa es Noa",
        "Es alérgico a las nueces",
        "Aprende piano",
        "Le gusta el té",
        "Vio una garza",
    ),
    "French": (
        "Il s’appelle Itay",
        "Sa femme est Noa",
        "Allergique aux noix",
        "Apprend le piano",
        "Aime le thé",
        "A vu un héron",
    ),
    "Russian": ("Его зовут Итай", "Его жена Ноа", "Аллергия на орехи", "Учит рояль", "Любит чай", "Видел цаплю"),
    "Hebrew": ("שמו איתי", "אשתו נועה", "אלרגי לאגוזים", "לומד פסנתר", "אוהב תה", "ראה אנפה"),
}


@pytest.mark.parametrize("facts", LANGUAGES.values(), ids=LANGUAGES)
def test_each_language_is_ranked_alike(facts):
    """Who they are, their people, needs, doings, tastes, the rest: by the obvious words of each."""
    assert fallback_bullets(facts, []) == facts
    assert fallback_bullets(facts[::-1], []) == facts
    assert [categorize(fact) for fact in facts] == [IDENTITY, PEOPLE, NEEDS, ACTIVITIES, TASTES, OTHER]


def test_no_language_is_ranked_below_another():
    """The facts of all languages together come kind by kind, not language by language."""
    together = [fact for facts in LANGUAGES.values() for fact in facts]
    kinds = [categorize(fact) for fact in fallback_bullets(together, [])]

    assert kinds == sorted(kinds)
    assert kinds.count(NEEDS) == len(LANGUAGES)


@pytest.mark.parametrize("fact", ["ナッツアレルギーがある", "حساسية من المكسرات", "对坚果过敏", "แพ้ถั่ว"])
def test_a_fact_nobody_can_tell_counts_as_a_need(fact):
    """In a script without a list of words it may be an allergy, and must not be cut off behind trifles."""
    assert fallback_bullets([fact, "Saw a heron", "Likes tea"], [])[0] == fact
