"""`gaia memory list`: the facts about a user, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
    scope_of,
)
from gaia_memory.cli.memory.filter_options import SinceOption, UntilOption, WhereOption, build_filters
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_facts, print_json
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import Fact, Origin, Page

EXAMPLES = """
Examples:

`gaia memory list --user itay` shows every fact.

`gaia memory list --user itay --where category=health --since 2026-03-01` shows only these.

`gaia memory list --user itay --limit 20 --offset 20` shows the second twenty.

`gaia memory list --user itay --json | jq -r '.memories[].text'` prints only the texts.
"""


def list_facts(
    user: UserOption,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many facts to skip.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="The maximum number of facts. Default: all.", show_default=False),
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List the facts about a user, oldest first."""
    filters = build_filters(where, since, until)
    page, has_facts = run_async(_load_page(load_config(config), user, app_name, filters, offset=offset, limit=limit))
    if as_json:
        from gaia_memory.transfer.export_format import origin_to_dict

        sources = {fact_id: [origin_to_dict(origin) for origin in origins] for fact_id, origins in page.origins.items()}
        memories = [{**fact_to_dict(fact), "sources": sources.get(fact.id, [])} for fact in page.facts]
        print_json({"user": user, "memories": memories, "total": page.total, "has_more": page.has_more})
        return
    empty_message = f"No fact about {user} matches." if has_facts else f"No facts about {user}."
    print_facts(page.facts, empty_message=empty_message)
    if page.has_more:
        after = offset + len(page.facts)
        print_line(f"{len(page.facts)} of {pluralize(page.total, 'fact')}; `--offset {after}` shows the next ones.")


async def _load_page(
    loaded: LoadedConfig,
    user: str,
    app_name: str | None,
    filters: Mapping[str, Any] | None,
    *,
    offset: int,
    limit: int | None,
) -> tuple[Page, bool]:
    """Return the facts to show, and whether the user has any fact at all."""
    from gaia_memory.models import Page
    from gaia_memory.recall.browse import MAX_PAGE_FACTS

    async with engine_without_background(loaded) as engine:
        scope = scope_of(engine, app_name, user)
        facts: list[Fact] = []
        origins: dict[str, Sequence[Origin]] = {}
        while True:
            remaining = MAX_PAGE_FACTS if limit is None else min(limit - len(facts), MAX_PAGE_FACTS)
            page = await engine.memory.browse(
                scope, filters=filters, offset=offset + len(facts), limit=remaining, include_origins=True
            )
            facts += page.facts
            origins |= page.origins
            if not page.has_more or len(facts) == limit:
                break
        has_facts = page.total > 0 or await engine.memory.count(scope) > 0
        if not has_facts:
            await print_other_apps(engine, scope)
        return Page(facts=tuple(facts), total=page.total, offset=offset, origins=origins), has_facts
