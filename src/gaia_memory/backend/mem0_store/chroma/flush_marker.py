"""When Chroma rewrites the index files of a folder, and the mark that stands there meanwhile.

Chroma keeps what was written since the last rewrite in a log, and reads all of it at each write and each open. It
rewrites the index in place: a process killed in the middle leaves files that may fail, or crash whoever searches them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AFTER = 2_000
"""Writes after which Chroma rewrites its index. Each write of 100,000 facts would read half of them otherwise."""

_MARK = "gaia-index-is-written"
_LENGTH = "gaia-log-length"


class Flushes:
    """Knows how long the log of an open folder is, and marks the folder while its index may be rewritten."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        """Begin with an empty log, or with that of `noted_length`; of one that is not known any write is marked."""
        self._folder = folder
        self._length = 0 if fresh else _taken(folder / _LENGTH)

    @contextmanager
    def during(self, changes: int) -> Iterator[None]:
        """Write `changes` in this block, in one call of Chroma's; the mark stays where that fails."""
        if self._length is not None:
            self._length += changes
            if self._length < AFTER:
                yield
                return
        before = self._index()
        _make_durable(self._folder / _MARK)
        yield
        if self._index() != before:
            self._length = 0
            for path in self._folder.glob("*/*"):
                _sync(path)
        (self._folder / _MARK).unlink()

    def closed(self) -> None:
        """Leave a note of how long the log is for the next open."""
        if self._length is not None:
            note_length(self._folder, self._length)

    def _index(self) -> list[tuple[int, int]]:
        """Return what changes with each rewrite."""
        states = [path.stat() for path in sorted(self._folder.glob("*/index_metadata.pickle"))]
        return [(state.st_ino, state.st_mtime_ns) for state in states]


def was_cut_short(folder: Path) -> bool:
    """Say whether a process ended while it rewrote the index of this folder."""
    return (folder / _MARK).exists()


def note_length(folder: Path, length: int) -> None:
    """Note how long the log of a folder is that nobody has open."""
    note = folder / _LENGTH
    note.touch(mode=0o600)
    note.write_text(str(length), encoding="ascii")


def _taken(note: Path) -> int | None:
    """Return the length that is noted; used up, since whoever opens the folder adds to its log."""
    try:
        length = int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    note.unlink()
    return length


def _make_durable(mark: Path) -> None:
    """Make a file that is there after a loss of power, too."""
    mark.touch(mode=0o600)
    _sync(mark)
    _sync(mark.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
