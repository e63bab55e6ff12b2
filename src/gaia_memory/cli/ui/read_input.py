"""Reads standard input and files as UTF-8, whatever the locale is."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import typer

from gaia_memory.cli.ui.terminal import print_error
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import escape_line


def require_stdin() -> TextIO:
    """Return standard input; read bytes from its `buffer`.

    Raises:
        InvalidInputError: it is closed.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInputError("standard input is closed: open it, or redirect it")
    return sys.stdin


def is_interactive() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def confirm(question: str, *, unchanged_message: str) -> None:
    """Ask a question and return if the answer is yes; show `unchanged_message` if there is no answer.

    Raises:
        typer.Abort: the answer is no.
        typer.Exit: there is no answer.
    """
    try:
        is_confirmed = typer.confirm(escape_line(question), err=True)
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


def read_fact_lines(file: Path | None) -> list[str]:
    """Return the lines of a file, or of standard input for None and `-`.

    Raises:
        typer.BadParameter: it cannot be read, or is no text.
    """
    text = read_text(file, hint="--file")
    if "\0" in text:
        raise typer.BadParameter(
            f"cannot read {_display_name(file)}: it contains NUL characters, so it is no text", param_hint="--file"
        )
    return text.splitlines()


def read_text(file: Path | None, *, hint: str) -> str:
    """Return the text of a file, or of standard input for None and `-`; `hint` names the option in an error.

    Raises:
        typer.BadParameter: it cannot be read, or is no UTF-8.
    """
    try:
        data = require_stdin().buffer.read() if file is None or str(file) == "-" else file.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} is no UTF-8; save it as UTF-8"
        raise typer.BadParameter(f"cannot read {_display_name(file)}: {reason}", param_hint=hint) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise typer.BadParameter(f"cannot read {_display_name(file)}: {reason}", param_hint=hint) from error


def _display_name(file: Path | None) -> str:
    return "standard input" if file is None or str(file) == "-" else str(file)
