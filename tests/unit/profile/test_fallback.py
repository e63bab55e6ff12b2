"""Without a model, the profile is a ranked and limited list of facts."""

# ruff: noqa: RUF001 - facts in their own scripts

import pytest

from gaia_memory.profile.bullets import MAX_BULLET_CHARACTERS, fit_bullets
from gaia_memory.profile.fact_categories import ACTIVITIES, IDENTITY, NEEDS, OTHER, PEOPLE, TASTES, categorize
from gaia_memory.profile.fallback import fallback_bullets


@pytest.mark.acceptance("P07")
def test_the_most_important_facts_come_first():
    """The order is identity, people, needs, activities, tastes and the rest; within a group the newest come first."""
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
    """The block and each line are limited; important facts are kept."""
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
def test_facts_are_ranked_the_same_in_each_language(facts):
    """The groups are recognised by common words of each language."""
    assert fallback_bullets(facts, []) == facts
    assert fallback_bullets(facts[::-1], []) == facts
    assert [categorize(fact) for fact in facts] == [IDENTITY, PEOPLE, NEEDS, ACTIVITIES, TASTES, OTHER]


def test_no_language_is_ranked_below_another():
    """Facts of all languages are ranked by group, not by language."""
    together = [fact for facts in LANGUAGES.values() for fact in facts]
    kinds = [categorize(fact) for fact in fallback_bullets(together, [])]

    assert kinds == sorted(kinds)
    assert kinds.count(NEEDS) == len(LANGUAGES)


@pytest.mark.parametrize("fact", ["ナッツアレルギーがある", "حساسية من المكسرات", "对坚果过敏", "แพ้ถั่ว"])
def test_an_unclassified_fact_counts_as_a_need(fact):
    """In a script without a word list it may be an allergy, which must not be cut off."""
    assert fallback_bullets([fact, "Saw a heron", "Likes tea"], [])[0] == fact
