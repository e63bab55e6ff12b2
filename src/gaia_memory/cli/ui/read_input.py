"""What is read from standard input and from files: UTF-8, whatever the machine's language is."""

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
    """Return standard input; what is read comes from its `buffer`, as bytes.

    Raises:
        InvalidInputError: it is closed.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInputError("standard input is closed, and there is nobody to read from: open it, or redirect it")
    return sys.stdin


def is_interactive() -> bool:
    """Say whether somebody types."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def confirm(question: str, *, unchanged_message: str) -> None:
    """Return only where somebody agrees; `unchanged_message` is told where nobody can answer.

    Raises:
        typer.Abort: they do not agree.
        typer.Exit: nobody answers.
    """
    try:
        is_confirmed = typer.confirm(escape_line(question), err=True)
    except typer.Abort:
        if is_interactive():
            raise
        typer.echo(err=True)
        print_error(f"{unchanged_message}: pass -y where nobody answers the question")
        raise typer.Exit(1) from None
    if not is_confirmed:
        raise typer.Abort


def iter_stdin_lines() -> Iterator[str]:
    """Yield the lines of standard input as they come; a byte that is no UTF-8 becomes a replacement character."""
    # Held while it is read: a thread that still waits for a line must not outlive it.
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
            f"cannot read {_display_name(file)}: it holds NUL characters and is no text", param_hint="--file"
        )
    return text.splitlines()


def read_text(file: Path | None, *, hint: str) -> str:
    """Return what is in a file, or comes from standard input for None and `-`; `hint` names it in a refusal.

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
