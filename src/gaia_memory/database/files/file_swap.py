"""Replaces several files at once: a process killed in between leaves all the old ones or, at the next opening, the new.

The new files are complete on disk, each beside the one it replaces, before the list of them is written. Whoever finds
that list finishes the replacement.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from pathlib import Path

from gaia_memory.files.private_files import replace_file, sync_to_disk

LIST_NAME = "restore.json"
"""The file in the home that lists the files to replace, while that is under way."""


LOG_SUFFIXES = ("-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files beside it."""

_STAGED_SUFFIX = ".staged"


class StagedFiles:
    """New files, each beside the one that it replaces, until `swap` moves them there or `discard` deletes them."""

    def __init__(self) -> None:
        self.paths: dict[Path, Path] = {}
        """The new file of each target."""

        self._token = secrets.token_hex(4)

    def add(self, target: Path) -> Path:
        """Return the path of a new file, and remove what a killed process left of an earlier one."""
        for leftover in target.parent.glob(f".{target.name}.*{_STAGED_SUFFIX}*"):
            leftover.unlink(missing_ok=True)
        self.paths[target] = target.with_name(f".{target.name}.{self._token}{_STAGED_SUFFIX}")
        return self.paths[target]

    def swap(self, home: Path) -> None:
        """Move each file to its place. Blocking.

        Raises:
            OSError: the list could not be written, and nothing was replaced, or a file cannot be replaced.
        """
        sync_to_disk(self.paths.values())
        pairs = [[str(new), str(old)] for old, new in self.paths.items()]
        for leftover in home.glob(f".{LIST_NAME}.*"):
            leftover.unlink(missing_ok=True)
        replace_file(home / LIST_NAME, json.dumps(pairs).encode())
        finish_swap(home)

    def discard(self) -> None:
        """Delete the files that were not moved to their places."""
        for path in self.paths.values():
            for suffix in ("", *LOG_SUFFIXES):
                Path(f"{path}{suffix}").unlink(missing_ok=True)


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
    sync_to_disk({target.parent for target in targets})
    (home / LIST_NAME).unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete the new files of a restore that was killed before it wrote the list. Blocking.

    Only for a process that has the database in this folder open: it keeps a restore from running.
    """
    for leftover in folder.glob(f".*{_STAGED_SUFFIX}*"):
        leftover.unlink(missing_ok=True)
