"""Who else on this machine may read what is stored."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gaia_memory.log import logger_for
from gaia_memory.telemetry import about

logger = logger_for(__name__)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(folder: Path) -> Iterator[Path]:
    """Yield a folder and all within it to which other users have rights; links are not looked at."""
    if is_open(folder):
        yield folder
    for inner, folders, files in os.walk(folder):
        yield from (path for path in (Path(inner, name) for name in (*folders, *files)) if is_open(path))


def is_open(path: Path) -> bool:
    """Say whether other users have any right to a file or folder."""
    try:
        return os.name == "posix" and not path.is_symlink() and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        # A process at work removes files; and what may not be looked at is no news here.
        return False


def shown(path: Path) -> str:
    """Return a path with its mode, as `chmod` takes it."""
    try:
        return f"{path} (mode {stat.S_IMODE(path.stat().st_mode):04o})"
    except OSError:
        return str(path)


def closing(path: Path) -> str:
    """Return the command that takes the rights of others away."""
    return shlex.join(["chmod", *(["-R"] if path.is_dir() else []), "go=", str(path)])


def warn_if_open(home: Path, database: Path | None) -> None:
    """Log once, in this process, that other users have rights to the home, or to the database file. Blocking."""
    told = False
    for place in (home, database):
        if place is not None and is_open(place) and not (told and _is_within(place, home)):
            _warn(shown(place), closing(place))
            told = place is home


def _is_within(place: Path, home: Path) -> bool:
    return place.absolute().is_relative_to(home.absolute())


@lru_cache(maxsize=256)
def _warn(place: str, remedy: str) -> None:
    told = "other users of this machine have rights to %s, where what people said is kept; take them away: %s"
    logger.warning(told, place, remedy, extra=about("rights.open"))
