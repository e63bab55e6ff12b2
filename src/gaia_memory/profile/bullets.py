"""Reads the lines of a model's answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gaia_memory.language.printable_text import tokens_of

MAX_CHARACTERS = 400
"""Characters of one bullet."""

_BULLET = re.compile(r"^\s*(?:[-*•·‣\u2013\u2014]|\d{1,3}[.)])\s+(?P<text>.*\S)\s*$")
_EMPTY = re.compile(r"^\W*(?:none|nothing|n/a|no facts?|unknown)\W*$", re.IGNORECASE)


def bullets_of(answer: str, *, limit: int) -> tuple[str, ...]:
    """Return the distinct bullets of `answer`, at most `limit`; none when it is not made of bullet lines.

    Introductions, headings and code fences around them are left out; an indented line goes on with the bullet
    above it.
    """
    found: list[str] = []
    for line in answer.splitlines():
        bullet = _BULLET.match(line)
        if bullet:
            found.append(bullet["text"])
        elif found and line[:1].isspace() and line.strip():
            found[-1] = f"{found[-1]} {line.strip()}"
    shortened = (shorten(text.replace("**", "")) for text in found)
    kept = [text for text in shortened if re.search(r"\w", text) and not _EMPTY.match(text)]
    return tuple(dict.fromkeys(kept))[:limit]


def shorten(text: str) -> str:
    """Return `text` as one line of at most `MAX_CHARACTERS`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1].rstrip() + "…"


def within(bullets: Sequence[str], *, limit: int, tokens: int) -> tuple[str, ...]:
    """Return the first bullets that fit, whole: at most `limit`, in at most `tokens` tokens with their dashes.

    One that is too long is left out and those behind it are still taken; where the very first is too long, as
    much of it is returned as fits.
    """
    kept: list[str] = []
    room = tokens
    for text in bullets:
        cost = tokens_of(text) + 1
        if len(kept) < limit and cost <= room:
            kept.append(text)
            room -= cost
    return tuple(kept) if kept else tuple(_cut(text, tokens - 1) for text in bullets[:1])


def _cut(text: str, tokens: int) -> str:
    while tokens_of(text) > tokens:
        text = text[: len(text) * 3 // 4].rstrip("…") + "…"
    return text
