"""Text that can be stored and printed, and whether it is visible."""

from __future__ import annotations

import re
import string
import unicodedata
from contextvars import ContextVar

_UNSTORABLE_PATTERN = re.compile("[\x00\ud800-\udfff]")
MEANINGFUL_INVISIBLE = frozenset("\u200c\u200d\ufe0e\ufe0f\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd").union(
    map(chr, range(0x600, 0x606))
)
"""Invisible characters that belong to visible text: joiners, the two styles of emoji, and number signs of Arabic,
Syriac and Kaithi."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
_WHITE_SPACE_CONTROLS = frozenset("\n\t")


def _escape_each(found: re.Match[str]) -> str:
    return "".join(f"\\{char}" for char in found[0])


# A space in the right place ends what Markdown or HTML would read; a backslash keeps signs of emphasis and code.
_MARKUP_REPLACEMENTS = (
    (re.compile(r"<(?=[A-Za-z/!?])"), "< "),
    (re.compile(r"\](?=[(\[:])"), "] "),
    (re.compile(r"\\(?=[!-/:-@\[-`{-~])"), r"\\\\"),
    (re.compile(r"[`]|(?<=[^\s*])\*+|\*+(?=[^\s*])|~(?=~)|(?<=~)~|(?<![^\W_])_|_(?![^\W_])"), _escape_each),
    (re.compile(r"^(?:[#>*]|[-+](?=\s|-|$))"), r"\\\g<0>"),
    (re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))"), r"\1\\"),
)
replies_are_plain_text: ContextVar[bool] = ContextVar("replies_are_plain_text", default=False)
"""Whether replies are shown as they are, as in a terminal: `escape_markup` then escapes nothing."""

_LIGHT_BYTES = string.ascii_letters.encode() + b" "
_ASCII_BYTES, _OTHER_BYTES = bytes(range(0x80)), bytes(range(0x80, 0x100))
_HEAVY_PATTERN = re.compile(rb" (?=[0-9])|[A-Z](?<=[A-Za-z0-9][A-Z])|[a-z](?=[0-9])|[a-z](?<=[0-9][a-z])")
_SYMBOL_LEAD_BYTE, _EMOJI_LEAD_BYTE = b"\xe2", b"\xf0"
"""The first bytes of U+2000 to U+2FFF, and of U+10000 to U+3FFFF."""

_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


def replace_unstorable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced: PostgreSQL refuses NUL, UTF-8 cannot encode the others."""
    return _UNSTORABLE_PATTERN.sub("\ufffd", text)


def hidden_characters(text: str) -> set[str]:
    """Return the characters of a text that are invisible, reorder it or control a terminal; no line breaks or tabs."""
    return {char for char in set(text) if _is_hidden(char)}


def remove_hidden(text: str) -> str:
    """Return the text without its `hidden_characters`: the form in which every reply and list shows it."""
    hidden = hidden_characters(text)
    return text.translate({ord(char): None for char in hidden}) if hidden else text


def escape_markup(text: str) -> str:
    """Return the text as one line that Markdown and HTML show as it is: no link, image, tag, list or emphasis.

    Only a reply is escaped, never what is stored; and not if `replies_are_plain_text`.
    """
    line = " ".join(filter(None, map(remove_hidden, text.split())))
    if replies_are_plain_text.get():
        return line
    for pattern, replacement in _MARKUP_REPLACEMENTS:
        line = pattern.sub(replacement, line)
    return line


def escape_line(text: str) -> str:
    """Return the text as one line without characters that control a terminal.

    Control, direction and invisible characters, line breaks and lone surrogates are escaped as in Python source.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def escape_lines(text: str) -> str:
    """Return a text of several lines, each escaped by `escape_line` and all but the first indented."""
    first, *others = map(escape_line, text.split("\n"))
    return "\n".join([first, *(line if not line or line.startswith("  ") else f"  {line}" for line in others)])


def is_blank(text: str) -> bool:
    """Return whether a text has only white space, control characters and invisible characters."""
    return all(char.isspace() or unicodedata.category(char) == "Cc" or is_invisible(char) for char in text)


def is_invisible(char: str) -> bool:
    """Return whether a character is invisible and has no width; white space and control characters are excluded."""
    code = ord(char)
    return (
        unicodedata.category(char) == "Cf"
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
        or char in _INVISIBLE_LETTERS
    )


def _is_hidden(char: str) -> bool:
    if char in _WHITE_SPACE_CONTROLS or char in MEANINGFUL_INVISIBLE:
        return False
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or is_invisible(char)


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of the tokens of a text: more than the usual tokenizers count.

    Three ASCII letters or spaces count as one token. Each other ASCII character counts as one, and so do a capital
    inside a word, a letter beside a digit and a space before one. Each other byte counts as half a token: a Hebrew or
    Russian letter is one token, a Chinese character one and a half. A symbol of three bytes counts as two tokens, an
    emoji of four as three.
    """
    raw = text.encode("utf-8", "replace")
    signs = len(raw.translate(None, _LIGHT_BYTES + _OTHER_BYTES)) + len(_HEAVY_PATTERN.findall(raw))
    others = len(raw.translate(None, _ASCII_BYTES))
    halves = others + raw.count(_SYMBOL_LEAD_BYTE) + 2 * raw.count(_EMOJI_LEAD_BYTE)
    return -(-(len(raw) - signs - others) // 3) + signs + -(-halves // 2)
