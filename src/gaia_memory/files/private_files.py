"""Writes files that only their owner can read, each completely or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def create_private_file(path: Path, *, exist_ok: bool = False) -> None:
    """Create an empty file that only its owner may read; with `exist_ok` one that exists is made so.

    Raises:
        FileExistsError: it exists, and `exist_ok` is false.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | (0 if exist_ok else os.O_EXCL), 0o600))
    if exist_ok:
        path.chmod(0o600)


def replace_file(
    path: Path, content: bytes, *, mode: int | None = None, check: Callable[[], None] | None = None
) -> None:
    """Write a file that is complete on the disk when it appears, and replaces an earlier one.

    It gets the permissions `mode`, by default those of the earlier one, whose owner it keeps where the system permits
    that, or else 0600. `check` is called right before the replacement, and prevents it by raising.
    """
    earlier = path.stat() if path.exists() else None
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is None and earlier is not None:
            mode = stat.S_IMODE(earlier.st_mode)
        if mode is not None:
            os.chmod(name, mode)
        if earlier is not None and hasattr(os, "chown"):
            # Only root may give a file to another owner; other users keep it as their own.
            with suppress(OSError):
                os.chown(name, earlier.st_uid, earlier.st_gid)
        if check is not None:
            check()
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with suppress(OSError):
        # Not every system opens a folder.
        sync_to_disk([path.parent])


def sync_to_disk(paths: Iterable[Path]) -> None:
    """Wait until files, or the names in folders, are on the disk."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
