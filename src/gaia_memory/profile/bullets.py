"""The lines of a profile: read from a model's answer or, without a model, chosen from the facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import IN_DOUBT_MARK, REMEMBERED_SOURCES, UNCONFIRMED_MARK, Fact

MAX_BULLET_CHARACTERS = 400
"""Characters of one bullet."""

_BULLET = re.compile(r"^\s*(?:[-*•·‣\u2013\u2014]|\d{1,3}[.)])\s+(?P<text>.*\S)\s*$")
_EMPTY_BULLET = re.compile(r"^\W*(?:none|nothing|n/a|no facts?|unknown)\W*$", re.IGNORECASE)


def parse_bullets(answer: str, *, limit: int) -> tuple[str, ...]:
    """Return the distinct bullets of `answer`, at most `limit`; none when it is not made of bullet lines.

    Introductions, headings and code fences are ignored. An indented line continues the bullet above it.
    """
    found: list[str] = []
    for line in answer.splitlines():
        bullet = _BULLET.match(line)
        if bullet:
            found.append(bullet["text"])
        elif found and line[:1].isspace() and line.strip():
            found[-1] = f"{found[-1]} {line.strip()}"
    truncated = (_truncate_line(text.replace("**", "")) for text in found)
    kept = [text for text in truncated if re.search(r"\w", text) and not _EMPTY_BULLET.match(text)]
    return tuple(dict.fromkeys(kept))[:limit]


def rank_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts (given with the one said last at the end) in the order of their importance.

    Remembered ones come first, then those said last, then those in doubt, and behind all what a model wrote and the
    person has not said.
    """
    newest_first = facts[::-1]
    return sorted(
        newest_first,
        key=lambda fact: (fact.is_unconfirmed, fact.is_in_doubt, fact.source not in REMEMBERED_SOURCES),
    )


def mark_text(fact: Fact, text: str) -> str:
    """Return the words of a fact as a model reads them: with a mark if nobody has said it, or if it is in doubt."""
    mark = UNCONFIRMED_MARK if fact.is_unconfirmed else IN_DOUBT_MARK if fact.is_in_doubt else ""
    return f"{mark} {text}".lstrip()


def fallback_bullets(
    facts: Sequence[Fact], projects: Sequence[str], tell: Callable[[Fact], str] = lambda fact: fact.text
) -> tuple[str, ...]:
    """Return a bullet for each fact and project: remembered facts, projects, and other facts, the newest first.

    Facts in doubt and those that the person has not confirmed come last, marked as such. `tell` words a fact.
    """
    ranked = rank_facts(facts)
    is_first = [
        fact.source in REMEMBERED_SOURCES and not fact.is_unconfirmed and not fact.is_in_doubt for fact in ranked
    ]
    remembered = [tell(fact) for fact, first in zip(ranked, is_first, strict=True) if first]
    others = [mark_text(fact, tell(fact)) for fact, first in zip(ranked, is_first, strict=True) if not first]
    lines = map(_truncate_line, [*remembered, *projects, *others])
    return tuple(dict.fromkeys(line for line in lines if line))


def fit_bullets(bullets: Sequence[str], *, limit: int, tokens: int) -> tuple[str, ...]:
    """Return the first bullets that fit, whole: at most `limit`, in at most `tokens` tokens with their dashes.

    A bullet that is too long is left out, and shorter ones after it are still taken. If not even one fits, the first is
    truncated.
    """
    kept: list[str] = []
    remaining_tokens = tokens
    for text in bullets:
        cost = estimate_tokens(text) + 1
        if len(kept) < limit and cost <= remaining_tokens:
            kept.append(text)
            remaining_tokens -= cost
    return tuple(kept) if kept else tuple(_truncate_to_tokens(text, tokens - 1) for text in bullets[:1])


def _truncate_line(text: str) -> str:
    """Return the text as one line of at most `MAX_BULLET_CHARACTERS`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_BULLET_CHARACTERS else line[: MAX_BULLET_CHARACTERS - 1].rstrip() + "…"


def _truncate_to_tokens(text: str, tokens: int) -> str:
    while estimate_tokens(text) > tokens:
        text = text[: len(text) * 3 // 4].rstrip("…") + "…"
    return text
