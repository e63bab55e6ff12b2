"""What a fact is about, judged by its words in English, German, French and Spanish."""

from __future__ import annotations

import re
from functools import lru_cache

from gaia_memory.backend.offline.grammar.rules import load_tables

_TABLES = load_tables("categories")
CATEGORIES = tuple(name for name in _TABLES.lists if name != "not_english")
"""The categories that facts may get, the more specific ones first."""

_WORDS_OF_CATEGORY = {category: _TABLES.words(category) for category in CATEGORIES}
_PATTERNS = {
    category: re.compile("|".join(re.escape(word).replace(r"\*", ".*") for word in words if "*" in word) or r"(?!)")
    for category, words in _WORDS_OF_CATEGORY.items()
}
_PHRASES = _TABLES.patterns
_NOT_ENGLISH = _TABLES.words("not_english")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NOT_FOUND = len(CATEGORIES)


def category_of(text: str) -> str | None:
    """Return the first of `CATEGORIES` to which a word of a fact belongs, or None."""
    literal = _PHRASES["profession"].sub(" works ", _PHRASES["idiom"].sub(" ", text)).lower()
    ignored = _NOT_ENGLISH if literal.startswith("user") else frozenset[str]()
    words = [word for word in _WORD.findall(literal) if word not in ignored]
    place = min(map(_place_of_word, words), default=_NOT_FOUND)
    return CATEGORIES[place] if place < _NOT_FOUND else None


@lru_cache(maxsize=10_000)
def _place_of_word(word: str) -> int:
    for place, category in enumerate(CATEGORIES):
        if word in _WORDS_OF_CATEGORY[category] or _PATTERNS[category].fullmatch(word):
            return place
    return _NOT_FOUND
