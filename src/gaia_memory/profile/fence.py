"""Makes a person's text harmless inside a tagged block of a prompt."""

# ruff: noqa: RUF001 - local models read fullwidth bars

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from gaia_memory.language.homoglyphs import fold_tag_confusables
from gaia_memory.language.printable_text import MEANINGFUL_INVISIBLE, is_invisible

PROTECTED_TAGS = (
    "USER_PROFILE",
    "FACTS",
    "PROJECTS",
    "PAST_CONVERSATIONS",
    "EXISTING_FACTS",
    "NEW_FACTS",
    "TURN_NOTES",
)
"""Blocks that contain text from memory: ours, and the block of ADK's `preload_memory`."""

_ROLE_TAGS = ("system", "sys", "assistant", "human", "start_of_turn", "end_of_turn")
"""Tags that models are trained to read as a change of speaker."""

_TAG_NAMES = "|".join(tag.replace("_", "").casefold() for tag in (*PROTECTED_TAGS, *_ROLE_TAGS))
# An open bracket at the end counts too: the next line would complete it.
# Each run of brackets is read once: otherwise a text of brackets alone would take minutes.
_TAG = re.compile(f"(?<![<>/])(?P<before>[<>/]++)(?:(?:{_TAG_NAMES})(?=(?P<after>[<>/]*))|$)")
_ROUND_BRACKETS = {"<": "(", ">": ")"}

# Not all look-alikes can be listed, so no name with a non-ASCII character may follow a bracket either.
_CONFUSABLE_TAG = re.compile(
    r"(?:[<＜﹤]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|(?:%(?:25)*|\\x|\\u00|\\u\{0*|=)3c\}?|\\0*74|\+ADw-?)"
    r"(?=(?:\s*/[^>)]{0,40}?|[^\s>)]{0,40}?)[^\x00-\x7f])",
    re.IGNORECASE,
)

# Tokens that local models read as the end of a turn, and marks that would open a code block.
_REPLACEMENTS = (
    (_CONFUSABLE_TAG, "("),
    (re.compile(r"<(/?(?:s|bos|eos))>", re.IGNORECASE), r"(\1)"),
    (re.compile(r"\[(/?INST)\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"<(?=[|｜])"), "("),
    (re.compile(r"(?<=[|｜])>"), ")"),
    (re.compile(r"`{3,}|~{3,}"), "'''"),
)

# Encoded brackets and letters: HTML entities, and ASCII as written in URLs, source code and mail.
_ENCODED_CHAR = re.compile(
    r"&(?:amp;)*(?P<name>#0*+\d{1,7}|#x0*+[\da-f]{1,6}|lt|gt|[a-z]{2,12}(?=;));?"
    r"|(?:%(?:25)*|\\x|\\u00|\\u\{0*|=)(?P<code>[2-7][\da-f])\}?"
    r"|\\0*(?P<octal>1[0-7]{2}|[4-7][0-7](?!\d))|\+(?P<utf7>ADw|AD4|AC8)-?",
    re.IGNORECASE,
)
_UTF7_SIGNS = {"adw": "<", "ad4": ">", "ac8": "/"}

_CONTROL_REPLACEMENTS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": ""}


def escape_for_prompt(text: str) -> str:
    """Return `text` as one line that cannot open or close a block or a turn of a prompt, however it is spelled.

    Angle brackets around the name of such a tag become round and code fences become quotes. Control, direction and
    invisible characters are removed. Everything else, including braces, stays.
    """
    line = _collapse_to_line(text)
    for pattern, replacement in _REPLACEMENTS:
        line = pattern.sub(replacement, line)
    return _neutralize_tags(line)


def _collapse_to_line(text: str) -> str:
    return " ".join("".join(map(_replace_invisible, text)).split())


@lru_cache(maxsize=4096)
def _replace_invisible(char: str) -> str:
    if is_invisible(char) and char not in MEANINGFUL_INVISIBLE:
        return ""
    return _CONTROL_REPLACEMENTS.get(unicodedata.category(char), char)


def _neutralize_tags(text: str) -> str:
    """Replace the brackets of every tag, found in a folded copy of the text whose characters keep their positions."""
    spans: list[tuple[int, int]] = []
    skeleton: list[str] = []
    for start, end, char in _decode_chars(text):
        for part in fold_tag_confusables(char):
            skeleton.append(part)
            spans.append((start, end))
    replacements: dict[tuple[int, int], str] = {}
    for match in _TAG.finditer("".join(skeleton)):
        if "<" not in match["before"]:
            continue
        for index in (*range(*match.span("before")), *range(*match.span("after"))):
            if skeleton[index] in _ROUND_BRACKETS:
                replacements[spans[index]] = _ROUND_BRACKETS[skeleton[index]]
    for (start, end), bracket in sorted(replacements.items(), reverse=True):
        text = text[:start] + bracket + text[end:]
    return text


def _decode_chars(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and value of each character; an encoded one such as `&lt;` is one character."""
    position = 0
    for match in _ENCODED_CHAR.finditer(text):
        yield from ((at, at + 1, text[at]) for at in range(position, match.start()))
        position = match.start()
        char = _decode(match)
        if not char.startswith("&"):
            yield match.start(), match.end(), char
            position = match.end()
    yield from ((at, at + 1, text[at]) for at in range(position, len(text)))


def _decode(match: re.Match[str]) -> str:
    """Return the character that is encoded; an unknown entity stays as it is."""
    if match["code"]:
        return chr(int(match["code"], 16))
    if match["octal"]:
        return chr(int(match["octal"], 8))
    if match["utf7"]:
        return _UTF7_SIGNS[match["utf7"].lower()]
    return html.unescape(f"&{match['name'].lower()};")
