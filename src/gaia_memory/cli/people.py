"""`gaia people`: what is to be done about who is who."""

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
)
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import MergeResult

app = typer.Typer(no_args_is_help=True, help="Make two user ids of one person one memory.")

_MERGE_EXAMPLES = """
Examples:

`gaia people merge telegram:12345 ada` asks, and moves what is known of the guest to ada.

`gaia people merge telegram:12345 ada --yes --json` asks nothing and prints the counts.
"""


@app.callback()
def people() -> None:
    """Make two user ids of one person one memory."""


@app.command("merge", epilog=_MERGE_EXAMPLES)
def merge(
    from_user: Annotated[
        str, typer.Argument(metavar="FROM", help="The user id whose memory is moved.", show_default=False)
    ],
    into_user: Annotated[
        str, typer.Argument(metavar="INTO", help="The user id that has it from then on.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Move all that is remembered under one user id to another one of the same person. It cannot be taken back.

    Ids of facts stay, what both know stands once, what either has forgotten stays forgotten. Talk of either that waits
    to be learned is to be learned first.
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
        print_line(
            f"{pluralize(merged.joined, 'fact')} known of both stand once."
            if merged.joined > 1
            else _ONE_DUPLICATE_MESSAGE
        )
    if merged.dropped:
        print_line(f"{pluralize(merged.dropped, 'fact')} left out: forgotten by {into_user}.")


_ONE_DUPLICATE_MESSAGE = "1 fact known of both stands once."


async def _merge_question(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> str:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        counts = []
        for user in (from_user, into_user):
            scope = engine.scope(app_name or engine.config.app, user)
            async with engine.database.read_transaction() as tx:
                counts.append(await engine.facts.count(tx, scope))
            if not counts[-1]:
                await print_other_apps(engine, scope)
    return (
        f"Move {pluralize(counts[0], 'fact')} of {from_user} to {into_user}, of whom {pluralize(counts[1], 'fact')} "
        f"{'is' if counts[1] == 1 else 'are'} known, for good?"
    )


async def _merge(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> MergeResult:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        name = app_name or engine.config.app
        return await engine.memory.merge(engine.scope(name, from_user), engine.scope(name, into_user))
