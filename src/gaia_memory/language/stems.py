"""The stems of words, and the numbers that stand for words and stems."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Any

import snowballstemmer

_MAX_CODE = 2**31 - 1
_SCRIPT_LANGUAGES = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0620", "\u06ff", "arabic"),
)
"""Languages by the letters they are written in: the one that most who use these letters write."""

_SHORT_I = re.compile("(?<=[\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f])\u0438")
"""A Russian i after a vowel: the words of the index have lost the mark that makes it short, and endings tell by it."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of an indexed word by Snowball's algorithms, which its script chooses; English for the rest."""
    language = "english" if word < _SCRIPT_LANGUAGES[0][0] else _language_of(word[0])
    if language == "russian":
        word = _SHORT_I.sub("\u0439", word)
    return str(_stemmer(language).stemWord(word))


def _language_of(letter: str) -> str:
    return next((language for first, last, language in _SCRIPT_LANGUAGES if first <= letter <= last), "english")


@lru_cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(language)


def word_code(word: str) -> int:
    """Return the number of a word, everywhere the same; of two in two thousand million one is taken for the other."""
    return zlib.crc32(word.encode(errors="surrogatepass")) & _MAX_CODE


@lru_cache(maxsize=50_000)
def stem_code(word: str) -> int:
    """Return the number of a word's stem."""
    return word_code(stem(word))
