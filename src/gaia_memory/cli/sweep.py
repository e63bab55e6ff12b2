"""`gaia sweep`: learn now what would be learned later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, engine_without_background, load_config, run_async
from gaia_memory.cli.memory.erasure_progress import wait_for_erasure
from gaia_memory.cli.ui.terminal import LOGGER_NAME, pluralize, print_error, print_line, progress_bar, silence_logger
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import PendingConversation, SweepProgress, SweepReport

EXAMPLES = """
Examples:

`gaia sweep` learns every conversation that has been quiet for long enough.

`gaia sweep --force --json` learns every conversation nobody is talking in, and prints counts for a script.
"""

STALL_NOTICE_SECONDS = 3.0
"""How long nothing ends before the bar says what it waits for."""

_MAX_NAMED_CONVERSATIONS = 10
"""Conversations that are named one by one; more of them would hide the rest."""


def sweep(
    force: Annotated[
        bool, typer.Option("--force", help="Do not wait until a conversation is idle, nor after a failure.")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn from conversations that went quiet. Leaves with 1 when one could not be learned, or none could be read."""
    report, failures, unread_message = run_async(_sweep(load_config(config), force=force))
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        print_line(json.dumps({**counts, "error": unread_message}))
    else:
        print_line(
            f"{pluralize(report.consolidated, 'conversation')} learned, "
            f"{report.failed} failed, {report.skipped} skipped"
        )
    for failure in failures:
        print_error(failure)
    if unread_message is not None:
        print_error(unread_message)
    if report.failed or report.reason:
        print_error("what failed is kept and tried again")
    if report.failed or report.reason or unread_message is not None:
        raise typer.Exit(1)


async def _sweep(loaded: LoadedConfig, *, force: bool) -> tuple[SweepReport, list[str], str | None]:
    """Sweep; return also a line for each conversation whose failure is noted, and for what waits all the same.

    The last value is what to say where conversations could not be looked for at all.
    """
    from gaia_memory.adk.gaia import Gaia

    async with engine_without_background(loaded) as engine:
        gaia = Gaia(engine, None)
        attempts_before = {waiting.key: waiting.attempts for waiting in await _pending(engine)}
        # What is put off, and what cannot be listed, is told at the end with its reason.
        with (
            silence_logger(f"{LOGGER_NAME}.sessions.learning.failure_recorder"),
            silence_logger(f"{LOGGER_NAME}.sessions.learning.discovery"),
            _SweepProgressBar(engine.backend.language_model.identity).show() as report_progress,
        ):
            report = await gaia.sweep(force=force, progress=report_progress)
        await _finish_erasure(engine)
        pending = await _pending(engine)
        failed = [waiting for waiting in pending if waiting.attempts > attempts_before.get(waiting.key, 0)]
        lines = [*_failure_lines(failed), *_skipped_lines(report), *_other_app_lines(engine, pending)]
        return report, lines, _unread_message(engine, pending)


async def _finish_erasure(engine: Engine) -> None:
    """Rewrite what still holds forgotten text: where nothing else runs, each sweep would leave before that is done."""
    from gaia_memory.errors import StoreStalledError

    async with engine.memory.database.read_transaction() as tx:
        if not await engine.memory.outbox.pending_erasures(tx):
            return
    with progress_bar("Rewriting files") as advance:
        try:
            other_owner = await wait_for_erasure(engine, engine.scope(engine.config.app, "-"), advance)
        except StoreStalledError as error:
            other_owner = str(error)
    if other_owner:
        print_error(f"what was forgotten still stands in files: {other_owner}")


def _failure_lines(failed: Sequence[PendingConversation]) -> list[str]:
    lines = [
        f"{escape_line(each.key.session)} is not learned yet: {each.reason}"
        for each in failed[:_MAX_NAMED_CONVERSATIONS]
    ]
    remaining = len(failed) - _MAX_NAMED_CONVERSATIONS
    return [*lines, f"{remaining} more are not learned yet: `gaia doctor` says what waits"] if remaining > 0 else lines


def _skipped_lines(report: SweepReport) -> list[str]:
    if not report.reason:
        return []
    return [f"{pluralize(report.skipped, 'conversation')} not tried, the model is away: {report.reason}"]


def _unread_message(engine: Engine, pending: Sequence[PendingConversation]) -> str | None:
    """Return what to say where the sessions of an app could not be listed, None where all could."""
    unread = engine.transcripts.listing_errors
    if not unread:
        return None
    from gaia_memory.config.secrets import mask_secrets
    from gaia_memory.database.read_only import database_path

    url = engine.config.sessions_url
    known_count = sum(waiting.key.app in unread for waiting in pending)
    apps, kinds = ", ".join(sorted(unread)), ", ".join(sorted(set(unread.values())))
    pending_note = f"{pluralize(known_count, 'conversation')} known to wait"
    return (
        f"{database_path(url) or mask_secrets(url)} cannot be read ({kinds}), so nothing that was said in "
        f"{apps} is learned ({pending_note}): `gaia doctor` says what is wrong; where it is damaged, restore a backup, "
        "or move it away and begin with an empty one"
    )


def _other_app_lines(engine: Engine, pending: Sequence[PendingConversation]) -> list[str]:
    """Return a line for the apps whose waiting talk is in no session database that can be read from here."""
    apps = sorted({waiting.key.app for waiting in pending} - set(engine.transcripts.apps))
    if not apps:
        return []
    names = ", ".join(apps)
    return [f"talk of {names} waits: it is not in the database of `sessions.database_url`, so that app has to learn it"]


async def _pending(engine: Engine) -> list[PendingConversation]:
    async with engine.memory.database.read_transaction() as tx:
        return await engine.memory.ledger.pending(tx, user=None, app=None)


class _SweepProgressBar:
    """How far a sweep is, on standard error, and what it waits for; nothing where that is no terminal.

    The bar looks at the clock whenever it is drawn: a model that takes minutes must not look like a hang.
    """

    def __init__(self, model: str) -> None:
        self._model_name = model
        self._progress: SweepProgress | None = None
        self._last_completion = time.monotonic()

    @contextmanager
    def show(self) -> Iterator[Callable[[SweepProgress], None]]:
        """Show it while the block runs; what is given is to be told of progress."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column
        from rich.text import Text

        owner = self

        class StatusColumn(TextColumn):
            def render(self, task: object) -> Text:
                return Text(owner.status_text())

        # Where a line is too short for all of it, the words take two and the bar stays.
        status_column = StatusColumn("", table_column=Column(no_wrap=False))
        columns = (
            SpinnerColumn(),
            TextColumn("Learning"),
            BarColumn(12, table_column=Column(no_wrap=True)),
            status_column,
        )
        console = Console(stderr=True)
        # A bar that is not shown would still end its line.
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None)

            def report_progress(now: SweepProgress) -> None:
                self.update(now)
                progress.update(
                    task, completed=_completed_count(now), total=_completed_count(now) + _remaining_count(now)
                )

            yield report_progress

    def update(self, progress: SweepProgress) -> None:
        """Take note of progress."""
        if (
            self._progress is None
            or not self._progress.in_progress
            or _completed_count(progress) > _completed_count(self._progress)
        ):
            self._last_completion = time.monotonic()
        self._progress = progress

    def status_text(self) -> str:
        """Return the counts and, once nothing has ended for a while, what it waits for."""
        progress, stalled_seconds = self._progress, time.monotonic() - self._last_completion
        if progress is None:
            return ""
        counts = f"{progress.consolidated} learned, {progress.failed} failed, {_remaining_count(progress)} waiting"
        if not progress.in_progress or stalled_seconds < STALL_NOTICE_SECONDS:
            return counts
        return f"{counts} · waits for {self._model_name}, {stalled_seconds:.0f} s"


def _completed_count(progress: SweepProgress) -> int:
    return progress.consolidated + progress.failed + progress.skipped


def _remaining_count(progress: SweepProgress) -> int:
    return progress.waiting + progress.in_progress
