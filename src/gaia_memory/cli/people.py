"""`gaia people`: user ids that belong to one person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
    scope_of,
)
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import MergeResult

app = typer.Typer(no_args_is_help=True, help="Merge user ids that belong to one person.")

_MERGE_EXAMPLES = """
Examples:

`gaia people merge telegram:12345 ada` asks, then moves the facts of the guest to ada.

`gaia people merge telegram:12345 ada --yes --json` does not ask, and prints the counts.
"""


@app.callback()
def people() -> None:
    """Merge user ids that belong to one person."""


@app.command("merge", epilog=_MERGE_EXAMPLES)
def merge(
    from_user: Annotated[str, typer.Argument(metavar="FROM", help="The user id to move from.", show_default=False)],
    into_user: Annotated[str, typer.Argument(metavar="INTO", help="The user id to move to.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Move the facts of one user id to another one of the same person. This cannot be undone.

    Facts keep their ids. A fact of both is kept once. Forgotten facts stay forgotten. Pending conversations of either
    have to be learned first.
    """
    for name, value in (("FROM", from_user), ("INTO", into_user)):
        if not value:
            raise typer.BadParameter("is empty: pass a user id", param_hint=name)
    loaded = load_config(config)
    if not yes:
        confirm(
            run_async(_merge_question(loaded, from_user, into_user, app_name)), unchanged_message="nothing was moved"
        )
    merged = run_async(_merge(loaded, from_user, into_user, app_name))
    if as_json:
        counts = {"moved": merged.moved, "joined": merged.joined, "dropped": merged.dropped}
        print_json({"from": from_user, "into": into_user, **counts})
        return
    print_line(f"Moved {pluralize(merged.moved, 'fact')} of {from_user} to {into_user}.")
    if merged.joined:
        verb = "is" if merged.joined == 1 else "are"
        print_line(f"{pluralize(merged.joined, 'fact')} of both {verb} kept once.")
    if merged.dropped:
        print_line(f"{pluralize(merged.dropped, 'fact')} left out: forgotten by {into_user}.")


async def _merge_question(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> str:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        counts = []
        for user in (from_user, into_user):
            scope = scope_of(engine, app_name, user)
            counts.append((await engine.memory.status(scope)).facts)
            if not counts[-1]:
                await print_other_apps(engine, scope)
    moved, existing = (pluralize(count, "fact") for count in counts)
    return f"Move {moved} of {from_user} to {into_user}, who has {existing}, for good?"


async def _merge(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> MergeResult:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        return await engine.memory.merge(scope_of(engine, app_name, from_user), scope_of(engine, app_name, into_user))
