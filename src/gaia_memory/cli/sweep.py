"""`gaia sweep`: learn from quiet conversations now."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, engine_without_background, load_config, run_async
from gaia_memory.cli.memory.erasure_progress import finish_erasures
from gaia_memory.cli.ui.terminal import LOGGER_NAME, pluralize, print_error, print_line, silence_logger
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.memory import Memory
    from gaia_memory.models import PendingConversation, SweepProgress, SweepReport

EXAMPLES = """
Examples:

`gaia sweep` learns from every conversation that has been quiet long enough.

`gaia sweep --force --json` learns from every conversation without an active turn, and prints counts.
"""

STALL_NOTICE_SECONDS = 3.0
"""How long without progress before the bar names what it is waiting for."""

_MAX_NAMED_CONVERSATIONS = 10
"""Failed conversations that are listed one by one; the rest are counted."""


def sweep(
    force: Annotated[bool, typer.Option("--force", help="Ignore idle time and back-off.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn from quiet conversations. Exits with 1 if one could not be learned, or none could be read."""
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
        print_error("failed conversations are kept and tried again")
    if report.failed or report.reason or unread_message is not None:
        raise typer.Exit(1)


async def _sweep(loaded: LoadedConfig, *, force: bool) -> tuple[SweepReport, list[str], str | None]:
    """Sweep; return also the lines about conversations that failed or are still pending.

    The last value is the message if conversations could not be listed at all.
    """
    from gaia_memory.adk.gaia import Gaia

    async with engine_without_background(loaded) as engine:
        gaia = Gaia(engine, None)
        attempts_before = {waiting.key: waiting.attempts for waiting in await engine.memory.pending()}
        # Failures are reported at the end, with their reasons.
        with (
            silence_logger(f"{LOGGER_NAME}.sessions.learning.backoff"),
            silence_logger(f"{LOGGER_NAME}.sessions.learning.discovery"),
            _SweepProgressBar(engine.model_name).show() as report_progress,
        ):
            report = await gaia.sweep(force=force, progress=report_progress)
        await _finish_erasures(engine.memory)
        pending = await engine.memory.pending()
        failed = [waiting for waiting in pending if waiting.attempts > attempts_before.get(waiting.key, 0)]
        lines = [*_failure_lines(failed), *_skipped_lines(report), *_other_app_lines(engine, pending)]
        return report, lines, _unread_message(engine, pending)


async def _finish_erasures(memory: Memory) -> None:
    """Wait for the erasures: if only `gaia sweep` ever runs, nothing else finishes them."""
    from gaia_memory.errors import StoreStalledError

    if not await memory.pending_erasures():
        return
    try:
        remaining = await finish_erasures(memory)
    except StoreStalledError as error:
        remaining = str(error)
    if remaining:
        print_error(f"files still contain forgotten text: {remaining}")


def _failure_lines(failed: Sequence[PendingConversation]) -> list[str]:
    lines = [
        f"{escape_line(each.key.session)} is not learned yet: {each.reason}"
        for each in failed[:_MAX_NAMED_CONVERSATIONS]
    ]
    remaining = len(failed) - _MAX_NAMED_CONVERSATIONS
    return [*lines, f"{remaining} more are not learned yet: see `gaia doctor`"] if remaining > 0 else lines


def _skipped_lines(report: SweepReport) -> list[str]:
    if not report.reason:
        return []
    return [
        f"{pluralize(report.skipped, 'conversation')} not tried, because the model gives no answer: {report.reason}"
    ]


def _unread_message(engine: Engine, pending: Sequence[PendingConversation]) -> str | None:
    """Return the message if the sessions of an app could not be listed; None if all could."""
    unread = engine.listing_errors
    if not unread:
        return None
    from gaia_memory.database.read_only import database_path
    from gaia_memory.redaction.mask import mask_secrets

    url = engine.config.sessions_url
    known_count = sum(waiting.key.app in unread for waiting in pending)
    apps, kinds = ", ".join(sorted(unread)), ", ".join(sorted(set(unread.values())))
    pending_note = f"{pluralize(known_count, 'conversation')} known to be pending"
    return (
        f"{database_path(url) or mask_secrets(url)} cannot be read ({kinds}), so no conversation of "
        f"{apps} is learned ({pending_note}): see `gaia doctor`; if it is damaged, restore a backup, or move it away "
        "to start with an empty one"
    )


def _other_app_lines(engine: Engine, pending: Sequence[PendingConversation]) -> list[str]:
    """Return a line for the apps with pending conversations that this configuration cannot read."""
    apps = sorted({waiting.key.app for waiting in pending} - set(engine.readable_apps()))
    if not apps:
        return []
    names = ", ".join(apps)
    return [f"conversations of {names} are pending, but not in `sessions.database_url`: that app has to learn them"]


class _SweepProgressBar:
    """The progress of a sweep, on standard error if that is a terminal.

    The bar reads the clock whenever it is drawn, so that a model that takes minutes does not look like a hang.
    """

    def __init__(self, model: str) -> None:
        self._model_name = model
        self._progress: SweepProgress | None = None
        self._last_completion = time.monotonic()

    @contextmanager
    def show(self) -> Iterator[Callable[[SweepProgress], None]]:
        """Show the bar while the block runs; yields the function to call with progress."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column
        from rich.text import Text

        owner = self

        class StatusColumn(TextColumn):
            def render(self, task: object) -> Text:
                return Text(owner.status_text())

        # In a narrow terminal the text wraps and the bar stays.
        status_column = StatusColumn("", table_column=Column(no_wrap=False))
        columns = (
            SpinnerColumn(),
            TextColumn("Learning"),
            BarColumn(12, table_column=Column(no_wrap=True)),
            status_column,
        )
        console = Console(stderr=True)
        # Even a hidden bar would print a line break.
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None)

            def report_progress(now: SweepProgress) -> None:
                self.update(now)
                progress.update(
                    task, completed=_completed_count(now), total=_completed_count(now) + _remaining_count(now)
                )

            yield report_progress

    def update(self, progress: SweepProgress) -> None:
        """Record progress."""
        if (
            self._progress is None
            or not self._progress.in_progress
            or _completed_count(progress) > _completed_count(self._progress)
        ):
            self._last_completion = time.monotonic()
        self._progress = progress

    def status_text(self) -> str:
        """Return the counts and, after a while without progress, what the sweep is waiting for."""
        progress, stalled_seconds = self._progress, time.monotonic() - self._last_completion
        if progress is None:
            return ""
        counts = f"{progress.consolidated} learned, {progress.failed} failed, {_remaining_count(progress)} waiting"
        if not progress.in_progress or stalled_seconds < STALL_NOTICE_SECONDS:
            return counts
        return f"{counts} · waiting for {self._model_name}, {stalled_seconds:.0f} s"


def _completed_count(progress: SweepProgress) -> int:
    return progress.consolidated + progress.failed + progress.skipped


def _remaining_count(progress: SweepProgress) -> int:
    return progress.waiting + progress.in_progress
