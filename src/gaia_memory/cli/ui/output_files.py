"""Writes files atomically and without losing existing ones."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaia_memory.errors import InvalidInputError
from gaia_memory.files.private_files import replace_file

_SQLITE_MAGIC = b"SQLite format 3\0"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""The suffixes of SQLite's files next to a database."""

_REMEDIES = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "name a place where you may read and write"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "name an existing folder"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space"),
    errno.EISDIR: "name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}

Outcome = Literal["made", "kept", "added", "replaced", "wrong"]
"""Created; already correct; completed with missing lines; rewritten with a backup; or invalid and left unchanged."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """The outcome for one file, with a note or a remedy in `message`."""

    path: Path
    outcome: Outcome
    message: str = ""


def describe_os_error(error: OSError) -> str:
    """Return one line about a path that cannot be read or written, with the remedy if there is one."""
    remedy = _REMEDIES.get(error.errno or 0)
    reason = error.strerror or type(error).__name__
    return f"{error.filename} cannot be used ({reason}){f': {remedy}' if remedy else ''}"


def write_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file atomically; a link keeps its target.

    The file gets the permissions `mode`, or those of the file it replaces, or the default of the process; a new file is
    never writable by all users, because it may contain code or the names of admins. A pipe or a device is written to
    directly.

    Raises:
        OSError: it cannot be written; `filename` is `path`.
    """
    try:
        if _is_special_file(path):
            # Without O_CREAT: a path that was removed meanwhile must not become a regular file.
            with os.fdopen(os.open(path, os.O_WRONLY), "w", encoding="utf-8") as file:
                file.write(text)
            return
        target = path.resolve()
        if mode is None and not target.exists():
            mode = 0o664 & ~_current_umask()
        replace_file(target, text.encode(), mode=mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def require_writable(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over a database, such as that of the memory itself, and without `overwrite` over any file.

    Raises:
        InvalidInputError: the file is a database or a part of one, or exists.
    """
    if any(path.name.endswith(end) and Path(str(path).removesuffix(end)).exists() for end in _SQLITE_SUFFIXES):
        raise InvalidInputError(f"{path} is part of a database, which would be damaged: name another file")
    # A pipe would wait for a writer.
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC:
                raise InvalidInputError(f"{path} is a database, which would be lost: name another file")
        if not overwrite:
            raise InvalidInputError(f"{path} exists: name another file, or pass --force to replace it")


def _is_special_file(path: Path) -> bool:
    """Say whether a path is a pipe or a device, which a new file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def back_up(path: Path) -> Path:
    """Copy a file to the next free name, `NAME.bak`, `NAME.bak1`, …, and return that."""
    names = (path.with_name(f"{path.name}.bak{number or ''}") for number in itertools.count())
    copy = next(name for name in names if not name.exists())
    shutil.copy(path, copy)
    return copy


def _current_umask() -> int:
    # The only way to read the mask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
