"""Replaces several files at once: a process killed in between leaves all the old ones or, at the next opening, the new.

The new files are complete on disk, each beside the one it replaces, before the list of them is written. Whoever finds
that list finishes the replacement.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

LIST_NAME = "restore.json"
"""The file in the home that lists the files to replace, while that is under way."""


def swap_files(home: Path, staged: Mapping[Path, Path]) -> None:
    """Move each staged file to its place; both are on one disk. Blocking.

    Raises:
        OSError: the list could not be written, and nothing was replaced, or a file cannot be replaced.
    """
    part = home / f"{LIST_NAME}.part"
    part.touch(mode=0o600)
    part.write_text(json.dumps([[str(new), str(old)] for new, old in staged.items()]), encoding="utf-8")
    fsync_paths([*staged, part])
    part.replace(home / LIST_NAME)
    fsync_paths([home])
    finish_swap(home)


def finish_swap(home: Path) -> None:
    """Finish a replacement that was begun; do nothing if there is none. Blocking."""
    try:
        pairs = json.loads((home / LIST_NAME).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return
    targets = [Path(old) for _, old in pairs]
    for new, old in pairs:
        # Another process may be finishing it, too: each file can be moved only once.
        with suppress(FileNotFoundError):
            Path(new).replace(old)
    fsync_paths({target.parent for target in targets})
    (home / LIST_NAME).unlink(missing_ok=True)


def fsync_paths(paths: Iterable[Path]) -> None:
    """Wait until files, or the names in folders, are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
