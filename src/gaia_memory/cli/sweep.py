"""`gaia sweep`: learn now what would be learned later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.opening import ConfigOption, JsonOption, load_config, quiet_engine, run
from gaia_memory.cli.terminal import bar, complain, counted

if TYPE_CHECKING:
    from gaia_memory.config.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Pending, SweepReport

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
    report, failures = run(_sweep(load_config(config), force=force))
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        typer.echo(json.dumps(counts))
    else:
        typer.echo(
            f"{counted(report.consolidated, 'conversation')} learned, {report.failed} failed, {report.skipped} skipped"
        )
    for failure in failures:
        complain(failure)
    if report.failed:
        complain("what failed is kept and tried again")
        raise typer.Exit(1)


async def _sweep(loaded: LoadedConfig, *, force: bool) -> tuple[SweepReport, list[str]]:
    """Sweep; return also a line for each conversation whose failure is noted, and for what cannot be read."""
    from gaia_memory.adk.gaia import Gaia

    async with quiet_engine(loaded) as engine:
        gaia = Gaia(engine, None)
        before = {waiting.key: waiting.attempts for waiting in await _pending(engine)}
        with bar("Learning") as advance:
            report = await gaia.sweep(force=force, progress=advance)
        failed = [waiting for waiting in await _pending(engine) if waiting.attempts > before.get(waiting.key, 0)]
        lines = [f"{waiting.key.session} is not learned yet: {waiting.reason}" for waiting in failed]
        return report, [*lines, *_unread(engine, await _pending(engine))]


def _unread(engine: Engine, pending: list[Pending]) -> list[str]:
    """Return a line for the apps whose waiting talk is in no session database that can be read from here."""
    apps = sorted({waiting.key.app for waiting in pending} - set(engine.transcripts.apps))
    if not apps:
        return []
    names = ", ".join(apps)
    return [f"talk of {names} waits: it is not in the database of `sessions.database_url`, so that app has to learn it"]


async def _pending(engine: Engine) -> list[Pending]:
    async with engine.memory.database.reading() as tx:
        return await engine.memory.ledger.pending(tx, user=None, app=None)
