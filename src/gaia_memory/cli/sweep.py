"""`gaia sweep`: learn now what would be learned later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config, quiet_engine, run
from gaia_memory.cli.memory.erasure_progress import erased
from gaia_memory.cli.ui.terminal import LOGGER, bar, complain, counted, say, unlogged
from gaia_memory.language.printable_text import on_one_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Pending, SweepProgress, SweepReport

EXAMPLES = """
Examples:

`gaia sweep` learns every conversation that has been quiet for long enough.

`gaia sweep --force --json` learns every conversation nobody is talking in, and prints counts for a script.
"""

PATIENT_SECONDS = 3.0
"""How long nothing ends before the bar says what it waits for."""

_NAMED = 10
"""Conversations that are named one by one; more of them would hide the rest."""


def sweep(
    force: Annotated[
        bool, typer.Option("--force", help="Do not wait until a conversation is idle, nor after a failure.")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn from conversations that went quiet. Leaves with 1 when one could not be learned, or none could be read."""
    report, failures, unread = run(_sweep(load_config(config), force=force))
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        say(json.dumps({**counts, "error": unread}))
    else:
        say(f"{counted(report.consolidated, 'conversation')} learned, {report.failed} failed, {report.skipped} skipped")
    for failure in failures:
        complain(failure)
    if unread is not None:
        complain(unread)
    if report.failed or report.reason:
        complain("what failed is kept and tried again")
    if report.failed or report.reason or unread is not None:
        raise typer.Exit(1)


async def _sweep(loaded: LoadedConfig, *, force: bool) -> tuple[SweepReport, list[str], str | None]:
    """Sweep; return also a line for each conversation whose failure is noted, and for what waits all the same.

    The last value is what to say where conversations could not be looked for at all.
    """
    from gaia_memory.adk.gaia import Gaia

    async with quiet_engine(loaded) as engine:
        gaia = Gaia(engine, None)
        before = {waiting.key: waiting.attempts for waiting in await _pending(engine)}
        # What is put off, and what cannot be listed, is told at the end with its reason.
        with (
            unlogged(f"{LOGGER}.sessions.postpone"),
            unlogged(f"{LOGGER}.sessions.discovery"),
            _Bar(engine.backend.language_model.identity).shown() as tell,
        ):
            report = await gaia.sweep(force=force, progress=tell)
        await _finish_erasure(engine)
        pending = await _pending(engine)
        failed = [waiting for waiting in pending if waiting.attempts > before.get(waiting.key, 0)]
        lines = [*_named(failed), *_waiting(report), *_elsewhere(engine, pending)]
        return report, lines, _unread(engine, pending)


async def _finish_erasure(engine: Engine) -> None:
    """Rewrite what still holds forgotten text: where nothing else runs, each sweep would leave before that is done."""
    from gaia_memory.errors import StoreStalledError

    async with engine.memory.database.reading() as tx:
        if not await engine.memory.outbox.erasures(tx):
            return
    with bar("Rewriting files") as advance:
        try:
            elsewhere = await erased(engine, engine.scope(engine.config.app, "-"), advance)
        except StoreStalledError as stalled:
            elsewhere = str(stalled)
    if elsewhere:
        complain(f"what was forgotten still stands in files: {elsewhere}")


def _named(failed: Sequence[Pending]) -> list[str]:
    lines = [f"{on_one_line(each.key.session)} is not learned yet: {each.reason}" for each in failed[:_NAMED]]
    more = len(failed) - _NAMED
    return [*lines, f"{more} more are not learned yet: `gaia doctor` says what waits"] if more > 0 else lines


def _waiting(report: SweepReport) -> list[str]:
    if not report.reason:
        return []
    return [f"{counted(report.skipped, 'conversation')} not tried, the model is away: {report.reason}"]


def _unread(engine: Engine, pending: Sequence[Pending]) -> str | None:
    """Return what to say where the sessions of an app could not be listed, None where all could."""
    unread = engine.transcripts.unread
    if not unread:
        return None
    from gaia_memory.config.secrets import masked
    from gaia_memory.database.read_only import file_of

    url = engine.config.sessions_url
    known = sum(waiting.key.app in unread for waiting in pending)
    apps, kinds = ", ".join(sorted(unread)), ", ".join(sorted(set(unread.values())))
    waits = f"{counted(known, 'conversation')} known to wait"
    return (
        f"{file_of(url) or masked(url)} cannot be read ({kinds}), so nothing that was said in {apps} is learned "
        f"({waits}): `gaia doctor` says what is wrong; where it is damaged, restore a backup, or move it away and "
        "begin with an empty one"
    )


def _elsewhere(engine: Engine, pending: Sequence[Pending]) -> list[str]:
    """Return a line for the apps whose waiting talk is in no session database that can be read from here."""
    apps = sorted({waiting.key.app for waiting in pending} - set(engine.transcripts.apps))
    if not apps:
        return []
    names = ", ".join(apps)
    return [f"talk of {names} waits: it is not in the database of `sessions.database_url`, so that app has to learn it"]


async def _pending(engine: Engine) -> list[Pending]:
    async with engine.memory.database.reading() as tx:
        return await engine.memory.ledger.pending(tx, user=None, app=None)


class _Bar:
    """How far a sweep is, on standard error, and what it waits for; nothing where that is no terminal.

    The bar looks at the clock whenever it is drawn: a model that takes minutes must not look like a hang.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._now: SweepProgress | None = None
        self._ended = time.monotonic()

    @contextmanager
    def shown(self) -> Iterator[Callable[[SweepProgress], None]]:
        """Show it while the block runs; what is given is to be told of progress."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column
        from rich.text import Text

        bar = self

        class Told(TextColumn):
            def render(self, task: object) -> Text:
                return Text(bar.told())

        # Where a line is too short for all of it, the words take two and the bar stays.
        told = Told("", table_column=Column(no_wrap=False))
        columns = (SpinnerColumn(), TextColumn("Learning"), BarColumn(12, table_column=Column(no_wrap=True)), told)
        console = Console(stderr=True)
        # A bar that is not shown would still end its line.
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None)

            def tell(now: SweepProgress) -> None:
                self.update(now)
                progress.update(task, completed=_done(now), total=_done(now) + _left(now))

            yield tell

    def update(self, now: SweepProgress) -> None:
        """Take note of progress."""
        if self._now is None or not self._now.at_work or _done(now) > _done(self._now):
            self._ended = time.monotonic()
        self._now = now

    def told(self) -> str:
        """Return the counts and, once nothing has ended for a while, what it waits for."""
        now, waited = self._now, time.monotonic() - self._ended
        if now is None:
            return ""
        counts = f"{now.consolidated} learned, {now.failed} failed, {_left(now)} waiting"
        if not now.at_work or waited < PATIENT_SECONDS:
            return counts
        return f"{counts} · waits for {self._model}, {waited:.0f} s"


def _done(now: SweepProgress) -> int:
    return now.consolidated + now.failed + now.skipped


def _left(now: SweepProgress) -> int:
    return now.waiting + now.at_work
