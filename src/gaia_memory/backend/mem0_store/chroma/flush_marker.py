"""When Chroma rewrites the index files of a folder, and the mark that stands there meanwhile.

Chroma keeps what was written since the last rewrite in a log, and reads all of it at each write and each open. It
rewrites the index in place: a process killed in the middle leaves files that may fail, or crash whoever searches them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FLUSH_THRESHOLD_WRITES = 2_000
"""Writes after which Chroma rewrites its index. Each write of 100,000 facts would read half of them otherwise."""

_MARKER_FILE = "gaia-index-is-written"
_LOG_LENGTH_FILE = "gaia-log-length"


class FlushMarker:
    """Knows how long the log of an open folder is, and marks the folder while its index may be rewritten."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        """Begin with an empty log, or with that of `noted_length`; of one that is not known any write is marked."""
        self._folder = folder
        self._log_length = 0 if fresh else _consume_log_length(folder / _LOG_LENGTH_FILE)

    @contextmanager
    def guard_writes(self, write_count: int) -> Iterator[None]:
        """Write `write_count` in this block, in one call of Chroma's; the mark stays where that fails."""
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
        """Leave a note of how long the log is for the next open."""
        if self._log_length is not None:
            write_log_length(self._folder, self._log_length)

    def _index_state(self) -> list[tuple[int, int]]:
        """Return what changes with each rewrite."""
        states = [path.stat() for path in sorted(self._folder.glob("*/index_metadata.pickle"))]
        return [(state.st_ino, state.st_mtime_ns) for state in states]


def was_interrupted(folder: Path) -> bool:
    """Say whether a process ended while it rewrote the index of this folder."""
    return (folder / _MARKER_FILE).exists()


def write_log_length(folder: Path, length: int) -> None:
    """Note how long the log of a folder is that nobody has open."""
    note = folder / _LOG_LENGTH_FILE
    note.touch(mode=0o600)
    note.write_text(str(length), encoding="ascii")


def _consume_log_length(note: Path) -> int | None:
    """Return the length that is noted; used up, since whoever opens the folder adds to its log."""
    try:
        length = int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    note.unlink()
    return length


def _create_durably(mark: Path) -> None:
    """Make a file that is there after a loss of power, too."""
    mark.touch(mode=0o600)
    _fsync(mark)
    _fsync(mark.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
