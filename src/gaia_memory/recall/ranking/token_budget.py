"""Cuts hits to a limit, a threshold and a token budget."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import Hit


def cut_to_budget(
    hits: Sequence[Hit], *, limit: int, threshold: float | None = None, tokens: int | None = None
) -> list[Hit]:
    """Return the first hits that score at least `threshold`, at most `limit`, in at most `tokens` tokens.

    Tokens are estimated cautiously. The first hit is kept even if it alone exceeds the budget.
    """
    kept = [hit for hit in hits if threshold is None or hit.score >= threshold][: max(limit, 0)]
    if tokens is None:
        return kept
    used_tokens = 0
    for index, hit in enumerate(kept):
        used_tokens += estimate_tokens(hit.fact.text)
        if index and used_tokens > tokens:
            return kept[:index]
    return kept
