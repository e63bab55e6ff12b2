"""Cuts hits to a limit, a threshold and a token budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import Hit

CUT_MARK = " […]"
"""The end of a text that was cut."""


def cut_to_budget(
    hits: Sequence[Hit], *, limit: int, threshold: float | None = None, tokens: int | None = None
) -> list[Hit]:
    """Return the first hits that score at least `threshold`, at most `limit`, in at most `tokens` tokens.

    Tokens are estimated cautiously. If not even the first fact fits, its text is cut and ends in `CUT_MARK`.
    """
    kept = [hit for hit in hits if threshold is None or hit.score >= threshold][: max(limit, 0)]
    if tokens is None:
        return kept
    texts = fit_texts([hit.fact.text for hit in kept], tokens)
    return [
        hit if text == hit.fact.text else replace(hit, fact=replace(hit.fact, text=text))
        for hit, text in zip(kept, texts, strict=False)
    ]


def fit_texts(texts: Sequence[str], tokens: int) -> list[str]:
    """Return the first texts that fit into a budget together; if not even one does, the first one, cut."""
    kept: list[str] = []
    remaining_tokens = tokens
    for text in texts:
        remaining_tokens -= estimate_tokens(text)
        if remaining_tokens < 0:
            break
        kept.append(text)
    return kept or [_cut(text, tokens) for text in texts[:1]]


def _cut(text: str, tokens: int) -> str:
    excess_at = bisect_left(range(len(text)), True, key=lambda size: estimate_tokens(text[:size] + CUT_MARK) > tokens)
    return text[: max(excess_at - 1, 0)].rstrip() + CUT_MARK
