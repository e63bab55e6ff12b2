"""`gaia memory search`: the facts that answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.memory.filter_options import FactFilter
from gaia_memory.cli.memory.target import Target
from gaia_memory.cli.ui.fact_output import (
    fact_to_dict,
    print_facts,
    print_json,
    print_rows,
    shorten_ids,
)
from gaia_memory.cli.ui.terminal import pluralize, print_line, progress_bar
from gaia_memory.models.fact import OutdatedHit, describe_missing

if TYPE_CHECKING:
    from gaia_memory.models import Hit, RecallResult

EXAMPLES = """
Examples:

`gaia memory search --user ada "Do I have an allergy to nuts?"` shows the facts that answer best.

`gaia memory search --user ada --limit 1 --json nuts` prints the best one with its score.

`gaia memory search --user ada --until 2025-12-31 "Where do I live?"` answers from facts said by that day.

`gaia memory search --user ada --as-of 2025-12-31 "Where do I live?"` answers with what was true on that day.

`gaia memory search --user ada --explain "my sister's dog"` shows the parts of each score.
"""

_LOWEST_SHOWN_SCORE = 0.005
"""A lower score would be shown as 0.00: such a fact only fills the list."""


async def search(
    target: Target,
    query: Annotated[list[str], typer.Argument(help="The question, or some words.", show_default=False)],
    chosen: FactFilter,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="The maximum number of facts.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show the parts of each score; with --json also the facts that were dropped or are outdated.",
        ),
    ] = False,
    include_sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Let sensitive facts answer, too; a list shows them in any case.")
    ] = False,
) -> None:
    """Show the facts that answer a question, best first."""
    text, filters = " ".join(query), chosen.filters
    if not text.strip():
        raise typer.BadParameter("the question is blank: pass words to look for, or use `gaia memory list`")
    options: dict[str, Any] = {"limit": limit, "filters": filters, "as_of": chosen.as_of}
    async with target.open() as opened:
        with progress_bar("Embedding facts") as advance:
            await opened.engine.vectors.fill(advance)
        recalled = await opened.memory.explain(opened.scope, text, include_sensitive=include_sensitive, **options)
        if not recalled.hits:
            await opened.explain_nothing()
        await opened.print_storage_problem()
        groups: list[Any] = [
            tuple(replace(hit, fact=opened.mask(hit.fact)) for hit in group)
            for group in (recalled.hits, recalled.dropped, recalled.outdated)
        ]
    recalled = replace(recalled, hits=groups[0], dropped=groups[1], outdated=groups[2])
    shown = [hit for hit in recalled.hits if hit.score >= _LOWEST_SHOWN_SCORE]
    empty_message = f"No fact about {target.user} answers that."
    if target.as_json:
        memories = [{**fact_to_dict(hit.fact), "score": hit.score} for hit in shown]
        found = _recall_to_dict(recalled) if explain else {"memories": memories}
        print_json({"user": target.user, "query": text, **found})
    elif explain and recalled.hits:
        _print_hits(recalled.hits)
        print_line("A score from 0 to 1 says how well a fact answers; --json also has what was left out.")
    else:
        facts, scores = [hit.fact for hit in shown], [hit.score for hit in shown]
        print_facts(facts, scores=scores, empty_message=empty_message)
        if facts:
            print_line(f"{target.user}: {pluralize(len(facts), 'fact')}.")
    for sentence in () if target.as_json else describe_missing(recalled.missing):
        print_line(sentence)


def _recall_to_dict(recalled: RecallResult) -> dict[str, Any]:
    """Return a recall as data for JSON: each memory with its score and its parts, the largest first."""
    return {
        "memories": [_hit_to_dict(hit) for hit in recalled.hits],
        "dropped": [_hit_to_dict(hit) for hit in recalled.dropped],
        "outdated": [_hit_to_dict(hit) for hit in recalled.outdated],
        "limit": recalled.limit,
        "missing": list(recalled.missing),
        "added": list(recalled.expansions),
    }


def _hit_to_dict(hit: Hit) -> dict[str, Any]:
    shown = {**fact_to_dict(hit.fact), "score": hit.score, "why": dict(_score_parts(hit))}
    if isinstance(hit, OutdatedHit):
        ending = hit.ending
        shown |= {"reason": ending.why, "ended_at": ending.ended_at.isoformat()}
        shown |= {"ended_by": ending.ended_by, "actor": ending.actor}
    return shown


def _print_hits(hits: Sequence[Hit]) -> None:
    """Print hits with the parts of their scores."""
    rows = []
    for hit, shown in zip(hits, shorten_ids([hit.fact.id for hit in hits]), strict=True):
        terms = [f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in _score_parts(hit)]
        rows.append((f"{hit.score:.2f}", " ".join(terms).removeprefix("+ "), hit.fact.text, shown))
    print_rows(("score", "why", "fact", "id"), rows)


def _score_parts(hit: Hit) -> list[tuple[str, float]]:
    """Return the parts of a score, the largest first."""
    return sorted(hit.why.items(), key=lambda part: (-abs(part[1]), part[0]))
