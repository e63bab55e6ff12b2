"""The words that say what a text is about."""

from __future__ import annotations

import re
from importlib.resources import files

from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import truncated_stem
from gaia_memory.language.tokenizer import index_tokens

_YEAR = re.compile("(?:19|20)[0-9]{2}")


def _load_word_list(name: str) -> frozenset[str]:
    lines = files("gaia_memory.language").joinpath(name).read_text(encoding="utf-8").splitlines()
    # Folded like the texts they are compared with.
    return frozenset(word for line in lines if not line.startswith("#") for word in index_tokens(fold_homoglyphs(line)))


_COMMON_WORDS = _load_word_list("common_words.txt")
_GENERIC_WORDS = _load_word_list("generic_words.txt")


def distinctive_stems(text: str) -> set[str]:
    """Return the stems of the words that say what a text is about."""
    words = {word for word in index_tokens(fold_homoglyphs(text)) if word not in _COMMON_WORDS and len(word) > 1}
    distinctive = {word for word in words - _GENERIC_WORDS if not _YEAR.fullmatch(word)}
    return {truncated_stem(word) for word in distinctive or words}
