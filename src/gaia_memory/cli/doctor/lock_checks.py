"""Whether another process keeps a SQLite file from being written, asked without opening it as a database."""

from __future__ import annotations

import time
from pathlib import Path

MAX_LOCK_SECONDS = 1.5
"""A write takes milliseconds; what is held longer than this is kept."""

_POLL_SECONDS = 0.1
_RESERVED_LOCK_BYTE = 0x40000001
"""The byte of the file that who writes without a log has locked: https://www.sqlite.org/fileformat2.html#lockbyte."""
_WAL_WRITE_LOCK_BYTE = 120
"""The byte of the `-shm` file that who writes into the log has locked: https://www.sqlite.org/walformat.html."""


def is_write_locked(path: Path) -> bool:
    """Say whether another process has the right to write for longer than a write takes. Blocking.

    Only for a process that has the file not open itself: closing a file gives back every lock a process has on it.
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
        # Windows locks otherwise, and cannot be asked.
        return False
    try:
        with path.open("rb") as file:
            # A shared lock is refused where a writer has his; it is given back with the file, a moment later.
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                return True
    except OSError:
        return False
    return False
