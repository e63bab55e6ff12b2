"""`gaia sweep`: learn now what would be learned later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.opening import ConfigOption, JsonOption, load_config, quiet_engine, run
from gaia_memory.cli.terminal import bar, complain, counted

if TYPE_CHECKING:
    from gaia_memory.config.load import LoadedConfig
    from gaia_memory.models import SweepReport

EXAMPLES = """
Examples:

`gaia sweep` learns every conversation that has been quiet for long enough.

`gaia sweep --force --json` learns every conversation nobody is talking in, and prints counts for a script.
"""


def sweep(
    force: Annotated[
        bool, typer.Option("--force", help="Do not wait until a conversation is idle, nor after a failure.")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn from conversations that went quiet. Leaves with 1 when one could not be learned."""
    report = run(_sweep(load_config(config), force=force))
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        typer.echo(json.dumps(counts))
    else:
        typer.echo(
            f"{counted(report.consolidated, 'conversation')} learned, {report.failed} failed, {report.skipped} skipped"
        )
    if report.failed:
        complain("what failed is kept and tried again; `gaia --debug sweep` shows why it failed")
        raise typer.Exit(1)


async def _sweep(loaded: LoadedConfig, *, force: bool) -> SweepReport:
    from gaia_memory.adk.gaia import Gaia

    async with quiet_engine(loaded) as engine:
        gaia = Gaia(engine, None)
        with bar("Learning") as advance:
            return await gaia.sweep(force=force, progress=advance)
