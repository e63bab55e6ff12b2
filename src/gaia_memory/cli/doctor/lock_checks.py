"""Finds a write lock on a SQLite file without opening the file as a database."""

from __future__ import annotations

import time
from pathlib import Path

MAX_LOCK_SECONDS = 1.5
"""A write takes milliseconds; a lock held longer than this is stuck."""

_POLL_SECONDS = 0.1
_RESERVED_LOCK_BYTE = 0x40000001
"""The byte of the file that a writer without a log locks: https://www.sqlite.org/fileformat2.html#lockbyte."""
_WAL_WRITE_LOCK_BYTE = 120
"""The byte of the `-shm` file that a writer of the log locks: https://www.sqlite.org/walformat.html."""


def is_write_locked(path: Path) -> bool:
    """Return whether another process holds the write lock longer than a write takes. Blocking.

    Only for a process that does not have the file open: closing a file releases every lock that a process has on it.
    """
    deadline = time.monotonic() + MAX_LOCK_SECONDS
    while _is_locked(path, _RESERVED_LOCK_BYTE) or _is_locked(Path(f"{path}-shm"), _WAL_WRITE_LOCK_BYTE):
        if time.monotonic() > deadline:
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _is_locked(path: Path, byte: int) -> bool:
    try:
        import fcntl
    except ImportError:
        # Windows has other locks, which cannot be queried.
        return False
    try:
        with path.open("rb") as file:
            # A writer's lock refuses a shared one, which is released with the file a moment later.
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                return True
    except OSError:
        return False
    return False
