"""The home folder: access, free space, and permissions."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.database.file_permissions import chmod_command, find_accessible_to_others, with_mode

LOW_SPACE_BYTES = 200 * 1024**2
MIN_SPACE_BYTES = 20 * 1024**2
"""Bytes: an erasure writes a new store next to the old one, tens of megabytes for ten thousand facts."""

_MAX_NAMED_PATHS = 3


def check_home(context: CheckContext) -> list[Finding]:
    """Check that the home is, or can become, a folder this user may write to."""
    home = context.config.home
    nearest = _nearest_existing(home)
    alternative = "or name another folder: `home` or GAIA_HOME"
    if not nearest.is_dir():
        return fail(f"{nearest} is not a folder", f"move it away, {alternative}")
    if not has_access(nearest, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"this user may not read and write {nearest}", f"change its permissions, {alternative}")
    return ok(f"{home} can be used" if nearest == home else f"{home} is created at the first start")


def check_disk(context: CheckContext) -> list[Finding]:
    """Check the free space of the disk that has the home."""
    free = shutil.disk_usage(_nearest_existing(context.config.home)).free
    message = f"{free / 1024**2:,.0f} MB are free"
    if free < MIN_SPACE_BYTES:
        return fail(message, "free some space: nothing can be stored on a full disk")
    if free < LOW_SPACE_BYTES:
        return warn(message, "free some space: rewriting the files after a forget needs it")
    return ok(message)


def check_permissions(context: CheckContext) -> list[Finding]:
    """Check whether other users may read the files."""
    home = context.config.home
    if os.name != "posix":
        return skip("this system has no POSIX permissions")
    if not home.is_dir():
        return skip("nothing is stored yet")
    accessible = [with_mode(path) for path in find_accessible_to_others(home)]
    if not accessible:
        return ok("no other user may read the home")
    more = f" and {len(accessible) - _MAX_NAMED_PATHS} more" if len(accessible) > _MAX_NAMED_PATHS else ""
    message = f"other users have access to {', '.join(accessible[:_MAX_NAMED_PATHS])}{more}"
    return warn(message, chmod_command(home))


def has_access(path: Path, mode: int) -> bool:
    """Return whether the effective user of this process has this access."""
    try:
        return os.access(path, mode, effective_ids=True)
    except NotImplementedError:
        # Not every system distinguishes the effective user.
        return os.access(path, mode)


def _nearest_existing(path: Path) -> Path:
    """Return a path or, if it does not exist, its nearest existing parent."""
    return next((above for above in (path, *path.parents) if os.path.lexists(above)), path)
