"""Why recall found what it found: the parts of each score, what was left out, and who could not answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_memory.cli.ui.fact_output import as_data, print_rows
from gaia_memory.cli.ui.terminal import counted, say

if TYPE_CHECKING:
    from gaia_memory.models import Hit, Recalled

_LEVEL = (
    "The best score says how well the question is answered at all, from 0 to 1: the share of its words that a fact "
    "holds, or the cosine of a vector. The others are their parts over those of the best."
)


def explained_data(recalled: Recalled) -> dict[str, Any]:
    """Return a recall as JSON shows it: each memory with its score and the parts of it, the greatest first."""
    return {
        "memories": [_hit_data(hit) for hit in recalled.hits],
        "dropped": [_hit_data(hit) for hit in recalled.dropped],
        "limit": recalled.limit,
        "missing": list(recalled.missing),
        "added": list(recalled.added),
    }


def print_explained(recalled: Recalled, *, threshold: float | None, nothing: str) -> None:
    """Print the facts found with the parts of their scores, and below what else is to be known."""
    if recalled.hits:
        print_rows(("score", "why", "fact", "id"), [_row(hit) for hit in recalled.hits])
        say()
        say(_LEVEL)
    else:
        say(nothing)
    if recalled.dropped:
        why = "beyond memory.recall.tokens" if threshold is None else f"memory.score_threshold is {threshold:g}"
        say(f"Left out, though among the best {recalled.limit} ({why}): {counted(len(recalled.dropped), 'fact')}")
        print_rows(("score", "why", "fact", "id"), [_row(hit) for hit in recalled.dropped])
    if recalled.added:
        say(f"Looked for, too, as memory.llm proposed: {'; '.join(recalled.added)}")
    if recalled.missing:
        say(f"Could not answer, so that its part is missing: {', '.join(recalled.missing)}")


def _hit_data(hit: Hit) -> dict[str, Any]:
    return {**as_data(hit.fact), "score": hit.score, "why": dict(_parts(hit))}


def _row(hit: Hit) -> Sequence[str]:
    signs = [f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in _parts(hit)]
    return f"{hit.score:.2f}", " ".join(signs).removeprefix("+ "), hit.fact.text, hit.fact.id


def _parts(hit: Hit) -> list[tuple[str, float]]:
    """Return the parts of a score, the one that weighs most first."""
    return sorted(hit.why.items(), key=lambda part: (-abs(part[1]), part[0]))
