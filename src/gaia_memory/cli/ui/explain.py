"""Why recall found what it found: the parts of each score, what was left out, and who could not answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_memory.cli.ui.fact_output import fact_to_dict, print_rows
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.models import Hit, RecallResult

_SCORE_NOTE = (
    "The best score says how well the question is answered at all, from 0 to 1: the share of its words that a fact "
    "holds, or the cosine of a vector. The others are their parts over those of the best."
)


def recall_to_dict(recalled: RecallResult) -> dict[str, Any]:
    """Return a recall as JSON shows it: each memory with its score and the parts of it, the greatest first."""
    return {
        "memories": [_hit_to_dict(hit) for hit in recalled.hits],
        "dropped": [_hit_to_dict(hit) for hit in recalled.dropped],
        "limit": recalled.limit,
        "missing": list(recalled.missing),
        "added": list(recalled.expansions),
    }


def print_recall(recalled: RecallResult, *, threshold: float | None, empty_message: str) -> None:
    """Print the facts found with the parts of their scores, and below what else is to be known."""
    if recalled.hits:
        print_rows(("score", "why", "fact", "id"), [_hit_row(hit) for hit in recalled.hits])
        print_line()
        print_line(_SCORE_NOTE)
    else:
        print_line(empty_message)
    if recalled.dropped:
        reason = "beyond memory.recall.tokens" if threshold is None else f"memory.score_threshold is {threshold:g}"
        print_line(
            f"Left out, though among the best {recalled.limit} ({reason}): {pluralize(len(recalled.dropped), 'fact')}"
        )
        print_rows(("score", "why", "fact", "id"), [_hit_row(hit) for hit in recalled.dropped])
    if recalled.expansions:
        print_line(f"Looked for, too, as memory.llm proposed: {'; '.join(recalled.expansions)}")
    if recalled.missing:
        print_line(f"Could not answer, so that its part is missing: {', '.join(recalled.missing)}")


def _hit_to_dict(hit: Hit) -> dict[str, Any]:
    return {**fact_to_dict(hit.fact), "score": hit.score, "why": dict(_score_parts(hit))}


def _hit_row(hit: Hit) -> Sequence[str]:
    terms = [f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in _score_parts(hit)]
    return f"{hit.score:.2f}", " ".join(terms).removeprefix("+ "), hit.fact.text, hit.fact.id


def _score_parts(hit: Hit) -> list[tuple[str, float]]:
    """Return the parts of a score, the one that weighs most first."""
    return sorted(hit.why.items(), key=lambda part: (-abs(part[1]), part[0]))
