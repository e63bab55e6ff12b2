"""The stems of words, and the numbers that stand for words and stems."""

from __future__ import annotations

import zlib
from functools import lru_cache

import snowballstemmer

_stemmer = snowballstemmer.stemmer("english")
_CODES = 2**31 - 1


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word by Porter's second algorithm; words of other scripts stay as they are."""
    return str(_stemmer.stemWord(word))


def code_of(word: str) -> int:
    """Return the number of a word, everywhere the same; of two in two thousand million one is taken for the other."""
    return zlib.crc32(word.encode(errors="surrogatepass")) & _CODES


@lru_cache(maxsize=50_000)
def stem_code(word: str) -> int:
    """Return the number of a word's stem."""
    return code_of(stem(word))
