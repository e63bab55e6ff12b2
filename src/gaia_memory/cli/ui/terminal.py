"""What the commands show: messages on standard error, progress bars, log lines."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from gaia_memory.language.printable_text import in_lines, on_one_line

LOGGER = "gaia_memory"

Advance = Callable[[int, int], None]
"""Called with what is done and the total."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return text without control characters, but line breaks and tabs, and without those that turn the order of signs.

    What a person or a model said steers no terminal.
    """
    return _CONTROLS.sub("", text)


def coloured(text: str, colour: str) -> str:
    """Return text in a colour, and as it is where `NO_COLOR` is set."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, fg=colour)


def say(message: str = "", *, head: str = "") -> None:
    """Show one line on standard output, after a head of ours; ids and names in it can make no second one."""
    typer.echo(f"{head}{on_one_line(message)}")


def say_lines(text: str, *, end: str = "\n") -> None:
    """Show text of a person or a model on standard output, of any number of lines."""
    typer.echo(f"{printable(text)}{end}", nl=False)


def complain(message: str) -> None:
    """Show an error, in red, on standard error; what is not its first line is indented."""
    typer.echo(coloured(in_lines(f"gaia: {message}"), typer.colors.RED), err=True)


def note(message: str) -> None:
    """Show a line worth knowing on standard error, so that standard output stays data."""
    typer.echo(coloured(on_one_line(message), typer.colors.YELLOW), err=True)


class _OneLine(logging.Handler):
    """Shows the first line of each record and no traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        note(f"{record.levelname.lower()}: {record.getMessage().partition(chr(10))[0]}")


class _Printable(logging.Formatter):
    """Shows other packages' log lines, too, without what a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def reporting(*, debug: bool) -> Callable[[], None]:
    """Show log lines as `debug` wants them; the function returned undoes it.

    Without it, warnings of this package are single lines and everybody else is silent; with it, everything of
    this package is shown, and what others say from INFO up, with tracebacks.
    """
    root, ours = logging.getLogger(), logging.getLogger(LOGGER)
    handler = logging.StreamHandler(sys.stderr) if debug else _OneLine(logging.WARNING)
    quiet = logging.NullHandler()
    before = root.level, ours.level, ours.propagate
    if debug:
        handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        ours.setLevel(logging.DEBUG)
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
        root.setLevel(before[0])
        ours.setLevel(before[1])
        ours.propagate = before[2]

    return undo


@contextmanager
def unlogged(name: str) -> Iterator[None]:
    """Keep a logger and those below it silent while the block runs: the command tells what they would."""
    logger = logging.getLogger(name)
    before = logger.propagate
    logger.propagate = False
    quiet = logging.NullHandler()
    logger.addHandler(quiet)
    try:
        yield
    finally:
        logger.removeHandler(quiet)
        logger.propagate = before


@contextmanager
def bar(description: str) -> Iterator[Advance]:
    """Show a progress bar on standard error while the block runs; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    # A bar that is not shown would still end its line.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(description, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=max(total, done))

        yield advance


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 fact`, `2 facts`."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
