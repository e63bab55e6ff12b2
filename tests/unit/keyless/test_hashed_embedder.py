"""The offline embedder: vectors from words and parts of words."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from gaia_memory.keyless.hashed_embedder import DIMENSIONS, OfflineEmbedder

EMBEDDER = OfflineEmbedder()


def near(one: str, other: str) -> float:
    """Return the cosine of two texts."""
    return sum(a * b for a, b in zip(EMBEDDER.embed(one), EMBEDDER.embed(other), strict=True))


@pytest.mark.parametrize("text", ["", " ", "!?", "tea", "תה ירוק", "緑茶", "tea " * 1000, "\ud83c"])
def test_every_text_has_a_unit_vector(text: str) -> None:
    """This includes blank and broken texts."""
    vector = EMBEDDER.embed(text)

    assert len(vector) == DIMENSIONS == 384
    assert math.isclose(math.fsum(value * value for value in vector), 1.0)


def test_case_punctuation_and_unicode_form_do_not_matter() -> None:
    """Accents, wide letters and a final sign change nothing."""
    assert near("Café", "CAFE\u0301!") == pytest.approx(1.0)
    assert near("ＴＥＡ", "tea") == pytest.approx(1.0)  # noqa: RUF001


@pytest.mark.parametrize(
    ("question", "fits", "does_not"),
    [
        ("green tea", "User likes green tea", "User lives in Haifa"),
        ("allergy", "User is allergic to nuts", "User works at Google"),
        ("Where do I live?", "User lives in Haifa", "User likes green tea"),
        ("איפה אני גר", "אני גר בחיפה", "אני אוהב תה"),
        ("北京", "我住在北京", "我喜欢绿茶"),
        ("東京の家", "私は東京に住んでいます", "緑茶が好きです"),
    ],
)
def test_texts_with_common_words_or_word_parts_are_closer(question: str, fits: str, does_not: str) -> None:
    """This holds for scripts with and without spaces."""
    assert near(question, fits) > near(question, does_not) + 0.05


@pytest.mark.heavy
def test_a_text_has_the_same_vector_in_every_process() -> None:
    """Stored vectors stay valid after a restart."""
    program = (
        "from gaia_memory.keyless.hashed_embedder import OfflineEmbedder\n"
        "print(repr(OfflineEmbedder().embed('User likes green tea')))"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)

    assert told.stdout.strip() == repr(EMBEDDER.embed("User likes green tea"))
