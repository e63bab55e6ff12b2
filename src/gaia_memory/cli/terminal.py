"""What the commands show: messages on standard error, progress bars, log lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

LOGGER = "gaia_memory"

Advance = Callable[[int, int], None]
"""Called with what is done and the total."""


def complain(message: str) -> None:
    """Show an error, in red, on standard error."""
    typer.secho(f"gaia: {message}", fg=typer.colors.RED, err=True)


def note(message: str) -> None:
    """Show something worth knowing on standard error, so that standard output stays data."""
    typer.secho(message, fg=typer.colors.YELLOW, err=True)


class _OneLine(logging.Handler):
    """Shows the first line of each record and no traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        note(f"{record.levelname.lower()}: {record.getMessage().partition(chr(10))[0]}")


def reporting(*, debug: bool) -> Callable[[], None]:
    """Show log lines as `debug` wants them; the function returned undoes it.

    Without it, warnings of this package are single lines and everybody else is silent; with it, everything
    from INFO up is shown, with tracebacks.
    """
    root, ours = logging.getLogger(), logging.getLogger(LOGGER)
    handler = logging.StreamHandler(sys.stderr) if debug else _OneLine(logging.WARNING)
    quiet = logging.NullHandler()
    levels = root.level, ours.propagate
    if debug:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
    else:
        # A filter would not last: libraries change the filters while they are imported in threads.
        logging.captureWarnings(True)
        root.addHandler(quiet)
        ours.addHandler(handler)
        ours.propagate = False

    def undo() -> None:
        logging.captureWarnings(False)
        for logger in (root, ours):
            logger.removeHandler(handler)
            logger.removeHandler(quiet)
        root.setLevel(levels[0])
        ours.propagate = levels[1]

    return undo


@contextmanager
def bar(description: str) -> Iterator[Advance]:
    """Show a progress bar on standard error while the block runs; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=max(total, done))

        yield advance


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 fact`, `2 facts`."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
