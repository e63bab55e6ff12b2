"""Writes files atomically and without losing existing ones."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaia_memory.errors import InvalidInputError

Outcome = Literal["made", "kept", "added", "replaced", "wrong"]
"""Created; already correct; completed with missing lines; rewritten with a backup; or invalid and left unchanged."""


_SQLITE_MAGIC = b"SQLite format 3\0"
_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""The suffixes of SQLite's files next to a database."""

_DESCRIPTOR_PREFIXES = ("/dev/", "/proc/")
_REMEDIES = {
    errno.EACCES: "name a place where you may read and write",
    errno.EPERM: "name a place where you may read and write",
    errno.EROFS: "name a place where you may read and write",
    errno.ENOENT: "name an existing folder",
    errno.ENOTDIR: "name an existing folder",
    errno.EISDIR: "name a file",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@dataclass(frozen=True, slots=True)
class FileStep:
    """The outcome for one file, with a note or a remedy in `message`."""

    path: Path
    outcome: Outcome
    message: str = ""


def write_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file atomically; a link keeps its target.

    The file gets the permissions `mode`, or those of the file it replaces, or the default of the process; a new file is
    never writable by all users, because it may contain code or the names of admins. A pipe or a device is written to
    directly.

    Raises:
        InvalidInputError: it cannot be written; the message says why.
    """
    if _is_special_file(path):
        return _write_into(path, text)
    target = path.resolve()
    temporary = ""
    try:
        if mode is None:
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o664 & ~_current_umask()
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise unusable_path_error(path, error) from error


def require_no_database(path: Path) -> None:
    """Refuse to write over a database, such as that of the memory itself.

    Raises:
        InvalidInputError: the file is one.
    """
    if any(
        path.name.endswith(end) and path.with_name(path.name.removesuffix(end)).exists() for end in _SQLITE_SUFFIXES
    ):
        raise InvalidInputError(f"{path} belongs to the database beside it, which would be damaged: name another file")
    try:
        # A pipe would wait for a writer.
        if not path.is_file():
            return
        with path.open("rb") as file:
            is_database = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        # Writing to it later reports what is wrong.
        return
    if is_database:
        raise InvalidInputError(f"{path} is a database, which would be lost: name another file")


def _is_special_file(path: Path) -> bool:
    """Say whether a path is a pipe, a device or an open descriptor, which a new file must not replace."""
    try:
        is_special = path.exists() and not path.is_file() and not path.is_dir()
    except OSError as error:
        raise unusable_path_error(path, error) from error
    # A descriptor that was redirected to a file is that file, and has no name of its own.
    return is_special or str(path.absolute()).startswith(_DESCRIPTOR_PREFIXES)


def _write_into(path: Path, text: str) -> None:
    try:
        # Without O_CREAT: a path that was removed meanwhile must not become a regular file.
        with os.fdopen(os.open(path, os.O_WRONLY), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise unusable_path_error(path, error) from error


def create_empty_file(path: Path, *, mode: int) -> None:
    """Create an empty file if it does not exist.

    Raises:
        InvalidInputError: it cannot be created; the message says why.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except FileExistsError:
        return
    except OSError as error:
        raise unusable_path_error(path, error) from error


def back_up(path: Path) -> Path:
    """Copy a file to the next free name, `NAME.bak`, `NAME.bak1`, …, and return that.

    Raises:
        InvalidInputError: it cannot be copied; the message says why.
    """
    number = 0
    while True:
        copy = path.with_name(f"{path.name}.bak{number or ''}")
        try:
            content = path.read_bytes()
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise unusable_path_error(copy, error) from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return copy


def create_folder(path: Path, *, mode: int = 0o775) -> None:
    """Create a folder and its parents, if they do not exist.

    Raises:
        InvalidInputError: it cannot be created; the message says why.
    """
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable_path_error(path, error) from error


def unusable_path_error(path: Path, error: OSError) -> InvalidInputError:
    """Return the error for a path that cannot be read or written."""
    reason = error.strerror or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0)
    return InvalidInputError(f"{path} cannot be used ({reason}){f': {remedy}' if remedy else ''}")


def _current_umask() -> int:
    # The only way to read the mask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
