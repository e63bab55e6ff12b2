"""`gaia memory list`: the facts about a user, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    LongOption,
    UserOption,
    open_scope,
    print_other_scopes,
    print_storage_problem,
)
from gaia_memory.cli.memory.filter_options import (
    AsOfOption,
    CategoryOption,
    SinceOption,
    UntilOption,
    WhereOption,
    build_filters,
    conditions_of,
    explain_nothing,
    parse_as_of,
)
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
    user: UserOption,
    category: CategoryOption = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many facts to skip.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="The maximum number of facts. Default: all.", show_default=False),
    ] = None,
    app_name: AppOption = None,
    long_ids: LongOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List the facts about a user, oldest first."""
    from gaia_memory.models.masked_fact import mask_fact, mask_origin
    from gaia_memory.recall.browse import MAX_PAGE_FACTS
    from gaia_memory.transfer.export_format import origin_to_dict

    conditions = conditions_of(where, category)
    filters, moment = build_filters(conditions, since, until), parse_as_of(as_of)
    facts: list[Fact] = []
    sources: dict[str, list[dict[str, Any]]] = {}
    async with open_scope(config, app_name, user) as (engine, scope):
        allow_numbers = engine.config.memory.allow_numbers
        while True:
            size = MAX_PAGE_FACTS if limit is None else min(limit - len(facts), MAX_PAGE_FACTS)
            page = await engine.memory.browse(
                scope, filters=filters, offset=offset + len(facts), limit=size, include_origins=True, as_of=moment
            )
            facts += [mask_fact(fact, allow_numbers=allow_numbers) for fact in page.facts]
            for fact_id, origins in page.origins.items():
                sources[fact_id] = [origin_to_dict(mask_origin(each, allow_numbers=allow_numbers)) for each in origins]
            if not page.has_more or len(facts) == limit:
                break
        has_facts = page.total > 0 or moment is not None or await engine.memory.count(scope) > 0
        if not has_facts:
            await print_other_scopes(engine, scope)
        if not facts:
            await explain_nothing(engine, scope, conditions)
        await print_storage_problem(engine)
    if as_json:
        memories = [{**fact_to_dict(fact), "sources": sources.get(fact.id, [])} for fact in facts]
        print_json({"user": user, "memories": memories, "total": page.total, "has_more": page.has_more})
        return
    empty_message = f"No fact about {user} matches." if has_facts else f"No facts about {user}."
    if page.total:
        empty_message = f"--offset {offset} is past the end: {pluralize(page.total, 'fact')} in all."
    print_facts(facts, long_ids=long_ids, empty_message=empty_message)
    if page.has_more:
        after = offset + len(facts)
        print_line(f"{user}: {len(facts)} of {pluralize(page.total, 'fact')}; `--offset {after}` shows the next ones.")
    elif facts:
        print_line(f"{user}: {pluralize(len(facts), 'fact')}.")
