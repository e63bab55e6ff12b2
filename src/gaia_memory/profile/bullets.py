"""Reads the lines of a model's answer."""

from __future__ import annotations

import re

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
