"""Unicode normal forms in which texts are compared."""

from __future__ import annotations

import unicodedata


def compose(text: str) -> str:
    """Return the text in NFC, each letter and its accent as one character: some keyboards type two."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold_case(text: str) -> str:
    """Return the composed text without differences of case."""
    return compose(compose(text).casefold())
