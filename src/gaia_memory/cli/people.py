"""`gaia people`: user ids that belong to one person."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    YesOption,
    open_engine,
    print_other_apps,
    sync_command,
)
from gaia_memory.cli.ui.command_app import CommandApp
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_line

app = CommandApp(no_args_is_help=True, help="Merge user ids that belong to one person.")

_MERGE_EXAMPLES = """
Examples:

`gaia people merge telegram:12345 ada` asks, then moves the facts of the guest to ada.

`gaia people merge telegram:12345 ada --yes --json` does not ask, and prints the counts.
"""


@app.callback()
def people() -> None:
    """Merge user ids that belong to one person."""


@app.command("merge", epilog=_MERGE_EXAMPLES)
@sync_command
async def merge(
    from_user: Annotated[str, typer.Argument(metavar="FROM", help="The user id to move from.", show_default=False)],
    into_user: Annotated[str, typer.Argument(metavar="INTO", help="The user id to move to.", show_default=False)],
    yes: YesOption = False,
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
    async with open_engine(config, allow_disabled=True) as engine:
        source, target = (engine.scope(app_name or engine.config.app, user) for user in (from_user, into_user))
        if not yes:
            counts = []
            for scope in (source, target):
                counts.append((await engine.memory.status(scope)).facts)
                if not counts[-1]:
                    await print_other_apps(engine, scope)
            moved, existing = (pluralize(count, "fact") for count in counts)
            question = f"Move {moved} of {from_user} to {into_user}, who has {existing}? This cannot be undone."
            confirm(question, unchanged_message="nothing was moved")
        merged = await engine.memory.merge(source, target)
    if as_json:
        moves = {"moved": merged.moved, "joined": merged.joined, "dropped": merged.dropped}
        print_json({"from": from_user, "into": into_user, **moves})
        return
    print_line(f"Moved {pluralize(merged.moved, 'fact')} of {from_user} to {into_user}.")
    if merged.joined:
        verb = "is" if merged.joined == 1 else "are"
        print_line(f"{pluralize(merged.joined, 'fact')} of both {verb} kept once.")
    if merged.dropped:
        print_line(f"{pluralize(merged.dropped, 'fact')} left out: forgotten by {into_user}.")
