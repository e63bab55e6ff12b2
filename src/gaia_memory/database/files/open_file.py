"""The SQLite file that an engine has open: whether it is still the one at its path, and known to be intact."""

from __future__ import annotations

from pathlib import Path

from gaia_memory.errors import MemoryUnavailable

BEGIN_WRITE = "BEGIN IMMEDIATE"
DAMAGE_MESSAGES = ("malformed", "not a database")
"""What SQLite says about a damaged file."""

_REPLACED_REMEDY = "put the file back if it was moved by mistake, then restart every process that uses it"
DAMAGED_REMEDY = "stop every process and restore a backup with `gaia restore FILE --force`"
"""What to do about a damaged memory database."""


class OpenFile:
    """A file as its engine opened it. Its methods that look at the disk block; connections call them in their threads.

    SQLite goes on writing to a file that was deleted or replaced, and what it writes is lost with the process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        self._damage = ""

    def note_opened(self) -> None:
        """Remember the file that a connection has opened, if it is the first."""
        if self._identity is None:
            self._identity = _identity_of(self.path)

    def require_same(self) -> None:
        """Check that the path still leads to the open file.

        Raises:
            MemoryUnavailable: the file was deleted, moved or replaced.
        """
        if self._identity is None:
            return
        found = _identity_of(self.path)
        if found != self._identity:
            event = "was deleted or moved" if found is None else "was replaced by another file"
            raise MemoryUnavailable(f"{self.path} {event} while it was open", remedy=_REPLACED_REMEDY)

    def require_writable(self) -> None:
        """Check that what is written now can be found again.

        Raises:
            MemoryUnavailable: the file was deleted, moved or replaced, or is known to be damaged.
        """
        self.require_same()
        if (damage := self.damage) is not None:
            raise damage

    def note_damage(self, message: str) -> None:
        """Remember what SQLite said about the damage; a blank message means that a check was clean."""
        self._damage = message

    @property
    def damage(self) -> MemoryUnavailable | None:
        """The error of a file in which damage was found; None if there was none."""
        return damaged_error(self.path, self._damage) if self._damage else None


def damaged_error(path: Path, message: object) -> MemoryUnavailable:
    """Return the error of a damaged file; `message` is SQLite's."""
    return MemoryUnavailable(f"{path} is damaged ({message})", remedy=DAMAGED_REMEDY)


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino
