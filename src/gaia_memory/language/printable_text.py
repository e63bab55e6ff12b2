"""Text as it can be kept, and whether it says anything."""

from __future__ import annotations

import re
import unicodedata

_UNSTORABLE_PATTERN = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


def replace_unstorable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced: PostgreSQL refuses them, UTF-8 has no place for them."""
    return _UNSTORABLE_PATTERN.sub("\ufffd", text)


def escape_line(text: str) -> str:
    """Return a text as one line that a log or a terminal shows and does not obey.

    Control, direction and invisible characters, line breaks and lone surrogates are escaped as in Python's source.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def escape_lines(text: str) -> str:
    """Return a text of several lines, each as `escape_line` has it and all but the first indented."""
    first, *others = map(escape_line, text.split("\n"))
    return "\n".join([first, *(line if not line or line.startswith("  ") else f"  {line}" for line in others)])


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
        or char in _INVISIBLE_LETTERS
    )


def estimate_tokens(text: str) -> int:
    """Return how many tokens a text is at most, by a cautious estimate.

    A token for three signs of ASCII; in other scripts a byte counts half a token, which is one for a Hebrew or
    Russian letter and one and a half for a Chinese sign: more than the tokenizers in use make of them.
    """
    ascii_count = sum(sign.isascii() for sign in text)
    other_bytes = len(text.encode("utf-8", "replace")) - ascii_count
    return -(-ascii_count // 3) + -(-other_bytes // 2)
