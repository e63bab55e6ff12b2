"""Explains a recall: the parts of each score, the facts that were dropped, and the retrievers that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_memory.cli.ui.fact_output import fact_to_dict, print_rows
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.models import Hit, RecallResult

_SCORE_NOTE = (
    "The best score, from 0 to 1, is the share of the question's words in the fact, or the cosine of its vector. The "
    "other scores are relative to it."
)


def recall_to_dict(recalled: RecallResult) -> dict[str, Any]:
    """Return a recall as data for JSON: each memory with its score and its parts, the largest first."""
    return {
        "memories": [_hit_to_dict(hit) for hit in recalled.hits],
        "dropped": [_hit_to_dict(hit) for hit in recalled.dropped],
        "limit": recalled.limit,
        "missing": list(recalled.missing),
        "added": list(recalled.expansions),
    }


def print_recall(recalled: RecallResult, *, threshold: float | None, empty_message: str) -> None:
    """Print the facts with the parts of their scores, then what was dropped, added or missing."""
    if recalled.hits:
        print_rows(("score", "why", "fact", "id"), [_hit_row(hit) for hit in recalled.hits])
        print_line()
        print_line(_SCORE_NOTE)
    else:
        print_line(empty_message)
    if recalled.dropped:
        reason = "beyond memory.recall.tokens" if threshold is None else f"memory.score_threshold is {threshold:g}"
        print_line(f"Dropped from the best {recalled.limit} ({reason}): {pluralize(len(recalled.dropped), 'fact')}")
        print_rows(("score", "why", "fact", "id"), [_hit_row(hit) for hit in recalled.dropped])
    if recalled.expansions:
        print_line(f"Also searched for, as memory.llm proposed: {'; '.join(recalled.expansions)}")
    if recalled.missing:
        print_line(f"Failed, so their part is missing: {', '.join(recalled.missing)}")


def _hit_to_dict(hit: Hit) -> dict[str, Any]:
    return {**fact_to_dict(hit.fact), "score": hit.score, "why": dict(_score_parts(hit))}


def _hit_row(hit: Hit) -> Sequence[str]:
    terms = [f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in _score_parts(hit)]
    return f"{hit.score:.2f}", " ".join(terms).removeprefix("+ "), hit.fact.text, hit.fact.id


def _score_parts(hit: Hit) -> list[tuple[str, float]]:
    """Return the parts of a score, the largest first."""
    return sorted(hit.why.items(), key=lambda part: (-abs(part[1]), part[0]))
