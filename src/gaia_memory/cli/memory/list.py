"""`gaia memory list`: the facts about a user, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.memory.filter_options import FactFilter
from gaia_memory.cli.memory.target import Target
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_facts, print_json
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.models import Fact

EXAMPLES = """
Examples:

`gaia memory list --user ada` shows every fact.

`gaia memory list --user ada --category health --since 2026-03-01` shows only these.

`gaia memory list --user ada --as-of 2025-12-31` shows what was true at the end of that day.

`gaia memory list --user ada --limit 20 --offset 20` shows the second twenty.

`gaia memory list --user ada --json | jq -r '.memories[].text'` prints only the texts.
"""


async def list_facts(
    target: Target,
    chosen: FactFilter,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many facts to skip.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="The maximum number of facts. Default: all.", show_default=False),
    ] = None,
) -> None:
    """List the facts about a user, oldest first."""
    from gaia_memory.recall.browse import MAX_PAGE_FACTS
    from gaia_memory.transfer.export_format import origin_to_dict

    facts: list[Fact] = []
    sources: dict[str, list[dict[str, Any]]] = {}
    options: dict[str, Any] = {"filters": chosen.filters, "as_of": chosen.as_of, "include_origins": True}
    async with target.open() as opened:
        while True:
            size = MAX_PAGE_FACTS if limit is None else min(limit - len(facts), MAX_PAGE_FACTS)
            page = await opened.memory.browse(opened.scope, offset=offset + len(facts), limit=size, **options)
            facts += map(opened.mask, page.facts)
            for fact_id, origins in page.origins.items():
                sources[fact_id] = list(map(origin_to_dict, opened.mask_origins(origins)))
            if not page.has_more or len(facts) == limit:
                break
        if not facts:
            await opened.explain_nothing()
        await opened.print_storage_problem()
    user, count = target.user, pluralize(page.total, "fact")
    if target.as_json:
        memories = [{**fact_to_dict(fact), "sources": sources.get(fact.id, [])} for fact in facts]
        print_json({"user": user, "memories": memories, "total": page.total, "has_more": page.has_more})
        return
    nothing = f"No fact about {user} matches." if options["filters"] or chosen.as_of else f"No facts about {user}."
    past_the_end = f"--offset {offset} is past the end: {count} in all."
    print_facts(facts, empty_message=past_the_end if page.total else nothing)
    if page.has_more:
        print_line(f"{user}: {len(facts)} of {count}; `--offset {offset + len(facts)}` shows the next ones.")
    elif facts:
        print_line(f"{user}: {pluralize(len(facts), 'fact')}.")
