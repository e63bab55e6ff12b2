"""File permissions of the stored data."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gaia_memory.log import log_fields, logger_for

logger = logger_for(__name__)

_OTHERS_MODE_MASK = stat.S_IRWXG | stat.S_IRWXO


def find_accessible_to_others(folder: Path) -> Iterator[Path]:
    """Yield the folder and each file and folder in it that other users can access; links are skipped."""
    if is_accessible_to_others(folder):
        yield folder
    for inner, folders, files in os.walk(folder):
        yield from (
            path for path in (Path(inner, name) for name in (*folders, *files)) if is_accessible_to_others(path)
        )


def is_accessible_to_others(path: Path) -> bool:
    """Return whether other users have any permission on a file or folder."""
    try:
        return os.name == "posix" and not path.is_symlink() and bool(path.stat().st_mode & _OTHERS_MODE_MASK)
    except OSError:
        # The file was removed meanwhile, or may not be read.
        return False


def with_mode(path: Path) -> str:
    """Return a path with its mode, in the notation of `chmod`."""
    try:
        return f"{path} (mode {stat.S_IMODE(path.stat().st_mode):04o})"
    except OSError:
        return str(path)


def chmod_command(path: Path) -> str:
    """Return the command that removes the permissions of other users."""
    return shlex.join(["chmod", *(["-R"] if path.is_dir() else []), "go=", str(path)])


def warn_if_accessible(home: Path, database: Path | None) -> None:
    """Log once per process that other users can access the home or else the database file. Blocking."""
    path = next((path for path in (home, database) if path is not None and is_accessible_to_others(path)), None)
    if path is not None:
        _warn(with_mode(path), chmod_command(path))


@lru_cache(maxsize=256)
def _warn(path: str, remedy: str) -> None:
    message = "other users of this machine have permissions on %s, which contains users' texts; remove them: %s"
    logger.warning(message, path, remedy, extra=log_fields("rights.open"))
