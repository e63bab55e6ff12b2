"""Writes files atomically and without losing existing ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaia_memory.errors import InvalidInputError
from gaia_memory.files.private_files import replace_file

_SQLITE_MAGIC = b"SQLite format 3\0"

Outcome = Literal["made", "kept", "wrong"]
"""Created; already correct; or invalid and left unchanged."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """The outcome for one file, with a note or a remedy in `message`."""

    path: Path
    outcome: Outcome
    message: str = ""


def describe_os_error(error: OSError) -> str:
    """Return one line about a path that cannot be read or written."""
    return f"{error.filename} cannot be used ({error.strerror or type(error).__name__}): name a place that you may use"


def write_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file with these permissions atomically; a link keeps its target.

    Raises:
        OSError: it cannot be written; `filename` is `path`.
    """
    try:
        replace_file(path.resolve(), text.encode(), mode=mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def require_writable(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over what is no file, over a database, and without `overwrite` over any file.

    Raises:
        InvalidInputError: one of these.
    """
    if not path.exists():
        return
    if not path.is_file():
        raise InvalidInputError(f"{path} is no file: name one")
    with path.open("rb") as file:
        if file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC:
            raise InvalidInputError(f"{path} is a database, which would be lost: name another file")
    if not overwrite:
        raise InvalidInputError(f"{path} exists: name another file, or pass --force to replace it")
