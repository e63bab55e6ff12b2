"""The words of a text, as the keyword index keeps them and recall compares them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

QUERY_LIMIT = 64
"""Words of a query that are looked up; a longer one says the rest in other words."""

_WORDS_LIMIT = 10_000
_CHARACTERS_LIMIT = 64
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul, whose particles are written onto the word
)
_WORD = re.compile(r"[^\W_]+")
_SPACELESS_RUN = re.compile(f"([{_SPACELESS}]+)")
_OPTIONAL_MARKS = (range(10, 36), range(200, 241))
"""Combining classes of what is often left out in writing: Hebrew and Arabic points, accents."""


def indexed_words(text: str) -> list[str]:
    """Return every word of a text in order; of writing without spaces, each character and each pair of them."""
    found: list[str] = []
    for run, spaceless in _runs(text):
        found.extend((*run, *_pairs(run)) if spaceless else (run,))
    return found[:_WORDS_LIMIT]


def query_words(text: str) -> list[str]:
    """Return the different words to look up; of writing without spaces pairs, so that a part of it is found."""
    found: dict[str, None] = {}
    for run, spaceless in _runs(text):
        found.update(dict.fromkeys(_pairs(run) if spaceless and len(run) > 1 else (run,)))
    return list(found)[:QUERY_LIMIT]


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    if text.isascii():
        # Nothing to fold or to split: most of what is read, and a tenth of the work.
        yield from ((word[:_CHARACTERS_LIMIT], False) for word in _WORD.findall(text.casefold()))
        return
    for word in _WORD.findall(_without_marks(text)):
        for part in _SPACELESS_RUN.split(word):
            if _SPACELESS_RUN.match(part):
                yield part, True
            elif part:
                yield part[:_CHARACTERS_LIMIT], False


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(
        char for char in decomposed if not any(unicodedata.combining(char) in marks for marks in _OPTIONAL_MARKS)
    )
    return "".join(map(_spelt, unicodedata.normalize("NFC", plain)))


def _spelt(char: str) -> str:
    """Return a vowel sign as digits: as it is, it would cut its word in two."""
    if unicodedata.category(char) not in ("Mn", "Mc", "Me"):
        return char
    return "" if _SPACELESS_RUN.match(char) else str(ord(char))


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]
