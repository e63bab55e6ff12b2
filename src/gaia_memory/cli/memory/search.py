"""`gaia memory search`: the facts that answer a question."""

from __future__ import annotations

from collections.abc import Mapping
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
from gaia_memory.cli.ui.explain import print_recall, recall_to_dict
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_hits, print_json

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import RecallResult

EXAMPLES = """
Examples:

`gaia memory search --user itay "Do I have an allergy to nuts?"` shows the facts that answer best.

`gaia memory search --user itay --limit 1 --json nuts` prints the best one with its score.

`gaia memory search --user itay --until 2025-12-31 "Where do I live?"` answers from facts said by that day.

`gaia memory search --user itay --explain "my sister's dog"` shows the parts of each score.
"""


def search(
    user: UserOption,
    query: Annotated[list[str], typer.Argument(help="The question, or some words.", show_default=False)],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="The maximum number of facts.")
    ] = None,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts of each score, and the facts that were dropped.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the facts that answer a question, best first."""
    query_text, loaded = " ".join(query), load_config(config)
    recalled = run_async(_search(loaded, user, app_name, query_text, limit, build_filters(where, since, until)))
    empty_message = f"No fact about {user} answers that."
    if as_json:
        memories: list[dict[str, Any]] = [{**fact_to_dict(hit.fact), "score": hit.score} for hit in recalled.hits]
        print_json(
            {"user": user, "query": query_text, **(recall_to_dict(recalled) if explain else {"memories": memories})}
        )
    elif explain:
        print_recall(recalled, threshold=loaded.config.memory.score_threshold, empty_message=empty_message)
    else:
        print_hits(recalled.hits, empty_message=empty_message)


async def _search(
    loaded: LoadedConfig,
    user: str,
    app_name: str | None,
    query: str,
    limit: int | None,
    filters: Mapping[str, Any] | None,
) -> RecallResult:
    async with engine_without_background(loaded) as engine:
        scope = scope_of(engine, app_name, user)
        await engine.load_embedder()
        recalled = await engine.memory.explain(scope, query, limit=limit, filters=filters)
        if not recalled.hits and not await engine.memory.count(scope):
            await print_other_apps(engine, scope)
        return recalled
