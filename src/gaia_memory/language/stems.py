"""Stems of words, and numeric codes of words and stems."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Any

_MAX_CODE = 2**31 - 1
_TRUNCATED_STEM_CHARACTERS = 5
_SCRIPT_LANGUAGES = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0620", "\u06ff", "arabic"),
)
"""The most common language of each range of letters."""

_SHORT_I = re.compile("(?<=[\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f])\u0438")
"""A Russian i after a vowel: the tokenizer strips the mark that makes it short, and the stemmer needs it."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of an indexed word, by the Snowball algorithm for its script; English for all other scripts."""
    language = "english" if word < _SCRIPT_LANGUAGES[0][0] else _language_of(word[0])
    if language == "russian":
        word = _SHORT_I.sub("\u0439", word)
    return str(_stemmer(language).stemWord(word))


def _language_of(letter: str) -> str:
    return next((language for first, last, language in _SCRIPT_LANGUAGES if first <= letter <= last), "english")


@lru_cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language)


def word_code(word: str) -> int:
    """Return the code of a word, the same in every process; two words share one with a probability of 2**-31."""
    return zlib.crc32(word.encode(errors="surrogatepass")) & _MAX_CODE


@lru_cache(maxsize=50_000)
def stem_code(word: str) -> int:
    """Return the code of a word's stem."""
    return word_code(stem(word))


def truncated_stem(word: str) -> str:
    """Return a word without a plural s, cut to five characters.

    Stored hashes of forgotten words are made of these stems, and the words are not known any more. So tombstones keep
    this stemmer, while everything else uses `stem`.
    """
    singular = word.removesuffix("s") if len(word) > 3 else word
    return singular[:_TRUNCATED_STEM_CHARACTERS]
