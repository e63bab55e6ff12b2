"""`gaia people`: what is to be done about who is who."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, load_config, name_other_apps, quiet_engine, run
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import counted, say

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import Merged

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
        confirm(run(_question(loaded, from_user, into_user, app_name)), undone="nothing was moved")
    merged = run(_merge(loaded, from_user, into_user, app_name))
    if as_json:
        counts = {"moved": merged.moved, "joined": merged.joined, "dropped": merged.dropped}
        print_json({"from": from_user, "into": into_user, **counts})
        return
    say(f"Moved {counted(merged.moved, 'fact')} of {from_user} to {into_user}.")
    if merged.joined:
        say(f"{counted(merged.joined, 'fact')} known of both stand once." if merged.joined > 1 else _ONE)
    if merged.dropped:
        say(f"{counted(merged.dropped, 'fact')} left out: forgotten by {into_user}.")


_ONE = "1 fact known of both stands once."


async def _question(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> str:
    async with quiet_engine(loaded, also_off=True) as engine:
        counts = []
        for user in (from_user, into_user):
            scope = engine.scope(app_name or engine.config.app, user)
            async with engine.database.reading() as tx:
                counts.append(await engine.facts.count(tx, scope))
            if not counts[-1]:
                await name_other_apps(engine, scope)
    return (
        f"Move {counted(counts[0], 'fact')} of {from_user} to {into_user}, of whom {counted(counts[1], 'fact')} "
        f"{'is' if counts[1] == 1 else 'are'} known, for good?"
    )


async def _merge(loaded: LoadedConfig, from_user: str, into_user: str, app_name: str | None) -> Merged:
    async with quiet_engine(loaded, also_off=True) as engine:
        name = app_name or engine.config.app
        return await engine.memory.merge(engine.scope(name, from_user), engine.scope(name, into_user))
