"""What a fact is about, judged by its words in English, German, French and Spanish."""

from __future__ import annotations

import re
from functools import lru_cache

from gaia_memory.backend.offline.grammar.rules import load_tables

_TABLES = load_tables("categories")
CATEGORIES = tuple(_TABLES.lists)
"""The categories that facts may get, the more specific ones first."""

_WORDS_OF_CATEGORY = {category: _TABLES.words(category) for category in CATEGORIES}
_PATTERNS = {
    category: re.compile("|".join(re.escape(word).replace(r"\*", ".*") for word in words if "*" in word) or r"(?!)")
    for category, words in _WORDS_OF_CATEGORY.items()
}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NOT_FOUND = len(CATEGORIES)


def category_of(text: str) -> str | None:
    """Return the first of `CATEGORIES` to which a word of a fact belongs, or None."""
    place = min(map(_place_of_word, _WORD.findall(text.lower())), default=_NOT_FOUND)
    return CATEGORIES[place] if place < _NOT_FOUND else None


@lru_cache(maxsize=10_000)
def _place_of_word(word: str) -> int:
    for place, category in enumerate(CATEGORIES):
        if word in _WORDS_OF_CATEGORY[category] or _PATTERNS[category].fullmatch(word):
            return place
    return _NOT_FOUND
