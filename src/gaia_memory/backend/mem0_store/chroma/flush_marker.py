"""Tracks when Chroma rewrites the index files of a folder, and marks the folder meanwhile.

Chroma logs all writes since the last rewrite and reads the whole log at each write and each open. It rewrites the
index in place: a process killed in the middle leaves files that may fail to open or crash a search.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FLUSH_THRESHOLD_WRITES = 2_000
"""Writes after which Chroma rewrites its index. Without this, each write of 100,000 facts would read half of them."""

_MARKER_FILE = "gaia-index-is-written"
_LOG_LENGTH_FILE = "gaia-log-length"


class FlushMarker:
    """Counts the log of an open folder, and marks the folder while its index may be rewritten."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        """Start with an empty log, or with the saved length; without one, every write is marked."""
        self._folder = folder
        self._log_length = 0 if fresh else _consume_log_length(folder / _LOG_LENGTH_FILE)

    @contextmanager
    def guard_writes(self, write_count: int) -> Iterator[None]:
        """Guard one call to Chroma that makes `write_count` writes; the marker stays if it fails."""
        if self._log_length is not None:
            self._log_length += write_count
            if self._log_length < FLUSH_THRESHOLD_WRITES:
                yield
                return
        previous_state = self._index_state()
        _create_durably(self._folder / _MARKER_FILE)
        yield
        if self._index_state() != previous_state:
            self._log_length = 0
            for path in self._folder.glob("*/*"):
                _fsync(path)
        (self._folder / _MARKER_FILE).unlink()

    def save_log_length(self) -> None:
        """Save the length of the log for the next open."""
        if self._log_length is not None:
            write_log_length(self._folder, self._log_length)

    def _index_state(self) -> list[tuple[int, int]]:
        """Return a value that changes with each rewrite."""
        states = [path.stat() for path in sorted(self._folder.glob("*/index_metadata.pickle"))]
        return [(state.st_ino, state.st_mtime_ns) for state in states]


def was_interrupted(folder: Path) -> bool:
    """Return whether a process ended while it rewrote the index of this folder."""
    return (folder / _MARKER_FILE).exists()


def write_log_length(folder: Path, length: int) -> None:
    """Save the length of the log of a folder that is not open."""
    note = folder / _LOG_LENGTH_FILE
    note.touch(mode=0o600)
    note.write_text(str(length), encoding="ascii")


def _consume_log_length(note: Path) -> int | None:
    """Return the saved length and delete it, because an open folder adds to its log."""
    try:
        length = int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    note.unlink()
    return length


def _create_durably(mark: Path) -> None:
    """Create a file that survives a loss of power."""
    mark.touch(mode=0o600)
    _fsync(mark)
    _fsync(mark.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
