"""Text as it can be kept, and whether it says anything."""

from __future__ import annotations

import re
import unicodedata

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SHOWN_AS_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


def storable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced: PostgreSQL refuses them, UTF-8 has no place for them."""
    return _UNSTORABLE.sub("\ufffd", text)


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen: it holds white space, controls and invisible characters only."""
    return all(char.isspace() or unicodedata.category(char) == "Cc" or is_invisible(char) for char in text)


def is_invisible(char: str) -> bool:
    """Return whether a character takes no room and shows nothing; white space and controls are not meant."""
    code = ord(char)
    return (
        unicodedata.category(char) == "Cf"
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
        or char in _SHOWN_AS_NOTHING
    )
