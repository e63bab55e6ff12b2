"""The tombstone form recognises a forgotten text in any spelling, and no other text."""

# ruff: noqa: RUF001 - look-alikes and other scripts are meant

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from gaia_memory.facts.identity.text_identity import tombstone_forms, tombstone_hashes, tombstone_lookup_hashes
from support.property_testing import property_test

CYRILLIC = dict(zip("aceopxyijsBEKMHOPCTX", "асеорхуіјѕВЕКМНОРСТХ", strict=True))
GREEK = dict(zip("oviuwABEZHIKMNOPTYX", "ονιυωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", strict=True))
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202e\u2066\u2069\ufe0f\u034f\U000e0061"
SPACES = " \t\n\u00a0\u2003\u3000\u2028"
MARKS = ".,;:!?…\"'“”’()[]{}*_`~—–、。¡¿/\\"

Disguise = Callable[[str, random.Random], str]


def _upper(text: str, _: random.Random) -> str:
    return text.upper()


def _any_case(text: str, chance: random.Random) -> str:
    return "".join(chance.choice((char.upper(), char.lower())) for char in text)


def _strewn(signs: str) -> Disguise:
    def strew(text: str, chance: random.Random) -> str:
        parts = (chance.choice(signs) if chance.random() < 0.3 else "" for _ in text)
        return "".join(f"{char}{part}" for char, part in zip(text, parts, strict=True)) + chance.choice(signs)

    return strew


def _between_words(signs: str) -> Disguise:
    def part(text: str, chance: random.Random) -> str:
        return chance.choice(signs).join(text.split()) + chance.choice(signs) + chance.choice(signs)

    return part


def _in(form: str) -> Disguise:
    return lambda text, _: unicodedata.normalize(form, text)


def _full_width(text: str, _: random.Random) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _alike(letters: dict[str, str]) -> Disguise:
    return lambda text, chance: "".join(letters.get(char, char) if chance.random() < 0.7 else char for char in text)


CASES: list[Disguise] = [_upper, _any_case]
HIDDEN: list[Disguise] = [_strewn(INVISIBLE), _between_words(SPACES), _between_words(MARKS), _strewn(SPACES)]
FORMS: list[Disguise] = [_in("NFC"), _in("NFD"), _in("NFKC"), _in("NFKD"), _full_width]
OTHER_SCRIPTS = [
    dict(zip("nouhAJEBMHTLVSCP", "ոօսհᎪᎫᎬᏴᎷᎻᎢᏞᏙᏚᏟᏢ", strict=True)),
    dict(zip("abcdefmopstuvzALSP", "ᴀʙᴄᴅᴇꜰᴍᴏᴘꜱᴛᴜᴠᴢꓮꓡꓢꓑ", strict=True)),
]
ALIKE: list[Disguise] = [_alike(CYRILLIC), _alike(GREEK), *map(_alike, OTHER_SCRIPTS)]

words = st.text("abcdeghijklmnopqrstuvwxyzABCEGHIKMNOPTXYZ", min_size=1, max_size=8)
in_latin = st.lists(words, min_size=1, max_size=6).map(" ".join)


def is_seen_alone(char: str) -> bool:
    """Return whether a character is more than a mark on a space; Unicode calls some such marks letters."""
    return unicodedata.normalize("NFKD", char)[:1] != " "


letters = st.characters(categories=["Lu", "Ll", "Lo", "Lt"], max_codepoint=0xFFFF).filter(is_seen_alone)
signs = st.characters(exclude_categories=["Cs"]).filter(is_seen_alone)
in_any = st.lists(st.text(letters, min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join)


def known_again(text: str, disguised: str) -> bool:
    """Return whether the second text matches the tombstone of the first."""
    return not tombstone_hashes(text, "salt").isdisjoint(tombstone_lookup_hashes(disguised, "salt"))


@property_test(in_latin, st.permutations([*HIDDEN, *FORMS, *ALIKE]), st.integers(0, 2**32), default_cases=400)
def test_a_text_is_recognised_in_combined_disguises(text: str, disguises: list[Disguise], seed: int) -> None:
    """Disguises are white space, punctuation, invisible characters, and composed, wide or look-alike letters."""
    chance = random.Random(seed)
    # A letter is drawn like another one as it stands: its case changes before that, or not at all.
    order = [chance.choice(CASES), *disguises[: chance.randrange(1, 4)]]
    disguised = text
    for disguise in order:
        disguised = disguise(disguised, chance)

    assert known_again(text, disguised), (text, disguised)


@property_test(in_any, st.sampled_from([*CASES[:1], *HIDDEN, *FORMS]), st.integers(0, 2**32), default_cases=400)
def test_a_text_in_any_script_is_recognised_in_another_spelling(text: str, disguise: Disguise, seed: int) -> None:
    """This includes letters without case, and letters whose other case has two characters."""
    disguised = disguise(text, random.Random(seed))

    assert known_again(text, disguised), (text, disguised)


@property_test(st.text(signs, max_size=30))
def test_the_tombstone_form_is_idempotent(text: str) -> None:
    """An empty form matches no other text."""
    for form in tombstone_forms(text):
        assert form in tombstone_forms(form), (text, form)
        assert form or not any(char.isalnum() for char in text), text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Weighs 1.5 kg", "Weighs 15 kg"),
        ("Was born on 1 5 1990", "Was born on 15 1990"),
        ("Lives at 4/12", "Lives at 41/2"),
        ("Freezes at -5", "Freezes at 5"),
        ("Is in room 5-7", "Is in room 57"),
        ("Likes C++", "Likes C"),
        ("Likes C#", "Likes C"),
        ("Likes tea", "Likes teal"),
        ("Has a vet", "Has a net"),
        ("Likes tea", "Likes tea 🍵"),
        ("Hat Käse gern", "Hat Kase gern"),
        ("!!!", "???"),
    ],
)
def test_a_text_with_another_meaning_is_not_recognised(text: str, other: str) -> None:
    """Examples are different numbers and names that end in a symbol."""
    assert not known_again(text, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Don't call after 8", "Don’t call, after 8!"),
        ("Freezes at -5", "freezes at −5"),
        ("Νίκος μένει στην Αθήνα", "ΝΊΚΟΣ ΜΈΝΕΙ ΣΤΗΝ ΑΘΉΝΑ"),
        ("Вера любит чай", "ВЕРА ЛЮБИТ ЧАЙ"),
        ("Has a vet", "Has a νet"),
        ("Don't call", "Don\u00b4t call"),
        ("住在東京", "住 在\u3000東京。"),
        ("Covid-19 twice", "COVID–19, twice"),
        ("Müller's Café", "MU\u0308LLER`S CAFE\u0301"),
        ("Straße", "STRASSE"),
    ],
)
def test_equivalent_spellings_in_real_texts_are_recognised(text: str, other: str) -> None:
    """The pairs use several scripts and accents."""
    assert known_again(text, other)


@pytest.mark.parametrize(
    ("disguised", "stored_hash"),
    [
        ("Likes pistachio ice cream", "8b4a39e076f573121578e72cf7c812989e1e9033c9133035abea3cb0381f31cd"),
        ("Likes pistachi\u0585 i\u13dfe cream", "8b4a39e076f573121578e72cf7c812989e1e9033c9133035abea3cb0381f31cd"),
        ("Живёт в Перми с Петей", "5eee64390830bc2ce69f592e2c5dbc3722b3b24ebefb36de3198c539d7f8ae20"),
        ("Ο ΝΊΚΟΣ μένει στην Αθήνα", "8410968aef1a82f3e3232f344174f8ff115858e77e0d8efd641bf9742ae682db"),
        ("Սիրում է սուրճ", "340957825c5a5dc23286df88ea50da50efd3e6f5f7dcbb84b8da2204835cb81b"),
        ("Ꭰ ᎠᏂ Ꮳ", "2f0990feba39b3e878df874d20b141a1b5d2bb0270e71888e738003ddec05593"),
    ],
)  # fmt: skip
def test_a_hash_stored_by_release_0_3_still_recognises_its_text(disguised: str, stored_hash: str) -> None:
    """The table of look-alikes may grow, but what was forgotten stays forgotten."""
    assert stored_hash in tombstone_lookup_hashes(disguised, "salt")
