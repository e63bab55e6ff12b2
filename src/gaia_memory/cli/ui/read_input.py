"""Reads standard input and files as UTF-8, whatever the locale is."""

from __future__ import annotations

import codecs
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer

from gaia_memory.cli.ui.terminal import print_error
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import escape_line

_INTERRUPT_SECONDS = 0.2


def require_stdin() -> TextIO:
    """Return standard input, whose `buffer` gives bytes, or raise InvalidInputError if it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInputError("standard input is closed: open it, or redirect it")
    return sys.stdin


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def ask(question: str) -> bool:
    """Ask a question at the terminal, and return whether the answer is yes; Ctrl-C ends the command."""
    text = escape_line(question)
    if threading.current_thread() is not threading.main_thread():
        return typer.confirm(text, err=True)
    # The handler of an event loop only cancels the command, which a blocking read does not notice.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _interrupted_reads():
            return typer.confirm(text, err=True)
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _interrupted_reads() -> Iterator[None]:
    """Interrupt a blocking read now and then: one that began just after a Ctrl-C arrived would not notice it."""
    if sys.platform == "win32":
        yield
        return
    handler = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _INTERRUPT_SECONDS, _INTERRUPT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def confirm(question: str, *, unchanged_message: str) -> None:
    """Ask a question and return if the answer is yes, else end the command; without an answer, say what to pass."""
    try:
        is_confirmed = ask(question)
    except typer.Abort:
        if is_interactive():
            raise
        typer.echo(err=True)
        print_error(f"{unchanged_message}: pass -y to skip the question")
        raise typer.Exit(1) from None
    if not is_confirmed:
        raise typer.Abort


def iter_stdin_lines() -> Iterator[str]:
    """Yield the lines of standard input as they arrive; invalid UTF-8 becomes a replacement character."""
    # Keep a reference while reading: a thread that still waits for a line must not outlive the stream.
    source = require_stdin()
    for number, line in enumerate(source.buffer):
        yield (line if number else line.removeprefix(codecs.BOM_UTF8)).decode("utf-8", "replace").rstrip("\r\n")


def read_text(file: Path | None, *, hint: str) -> str:
    """Return the text of a file, or of standard input for None and `-`; `hint` names the option in an error."""
    try:
        is_stdin = file is None or str(file) == "-"
        data = require_stdin().buffer.read() if file is None or is_stdin else file.read_bytes()
        if (end := data.find(b"\0")) >= 0:
            raise UnicodeDecodeError("utf-8", data, end, end + 1, "a NUL")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} is not UTF-8 text; save it as UTF-8"
        raise typer.BadParameter(f"cannot read {display_name(file)}: {reason}", param_hint=hint) from error
    except OSError as error:
        raise typer.BadParameter(f"cannot read {display_name(file)}: {error.strerror}", param_hint=hint) from error


def display_name(file: Path | None) -> str:
    """Return the name of an input for messages."""
    return "standard input" if file is None or str(file) == "-" else str(file)
