"""Output of the commands: messages, progress bars, log lines."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from gaia_memory.language.printable_text import escape_line, escape_lines, remove_hidden

LOGGER_NAME = "gaia_memory"

ProgressCallback = Callable[[int, int], None]
"""Called with what is done and the total."""


def coloured(text: str, colour: str) -> str:
    """Return text in a colour, or unchanged if `NO_COLOR` is set."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour)


def print_line(message: str = "", *, prefix: str = "") -> None:
    """Print one line after a prefix; ids and names in it cannot break the line."""
    typer.echo(f"{prefix}{escape_line(message)}")


def print_text(text: str, *, end: str = "\n") -> None:
    """Print text of a user or a model, of any number of lines."""
    typer.echo(f"{remove_hidden(text)}{end}", nl=False)


def print_speaker(name: str, colour: str) -> None:
    """Print the name of who speaks next, in a colour, without a line break."""
    typer.echo(coloured(name, colour), nl=False)


def print_error(message: str) -> None:
    """Print an error in red to standard error; all lines but the first are indented."""
    typer.echo(coloured(escape_lines(f"gaia: {message}"), typer.colors.RED), err=True)


def print_note(message: str) -> None:
    """Print a note to standard error, so that standard output contains only data."""
    typer.echo(coloured(escape_line(message), typer.colors.YELLOW), err=True)


class _OneLineHandler(logging.Handler):
    """Shows the first line of each record and no traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(f"{record.levelname.lower()}: {record.getMessage().partition(chr(10))[0]}")


class _PrintableFormatter(logging.Formatter):
    """Formats log lines without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return remove_hidden(super().format(record))


def configure_logging(*, debug: bool) -> Callable[[], None]:
    """Configure logging for a command; call the returned function to undo it.

    Warnings of this package are shown as single lines, and other packages are silent. With `debug` everything of this
    package is shown, and INFO and above of other packages, with tracebacks.
    """
    root, ours = logging.getLogger(), logging.getLogger(LOGGER_NAME)
    handler = logging.StreamHandler(sys.stderr) if debug else _OneLineHandler(logging.WARNING)
    null_handler = logging.NullHandler()
    previous = root.level, ours.level, ours.propagate
    if debug:
        handler.setFormatter(_PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        ours.setLevel(logging.DEBUG)
    else:
        # Warning filters would not last: libraries change them while they are imported in threads.
        logging.captureWarnings(True)
        root.addHandler(null_handler)
        ours.addHandler(handler)
        ours.propagate = False

    def undo() -> None:
        logging.captureWarnings(False)
        for logger in (root, ours):
            logger.removeHandler(handler)
            logger.removeHandler(null_handler)
        root.setLevel(previous[0])
        ours.setLevel(previous[1])
        ours.propagate = previous[2]

    return undo


@contextmanager
def silence_logger(name: str) -> Iterator[None]:
    """Silence a logger and its children while the block runs, because the command reports the same."""
    logger = logging.getLogger(name)
    previous = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(previous)


@contextmanager
def progress_bar(description: str) -> Iterator[ProgressCallback]:
    """Show a progress bar with the elapsed time on standard error, if that is a terminal, while the block runs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    # Even a hidden bar would print a line break.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=max(total, done))


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 fact`, `2 facts`."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
