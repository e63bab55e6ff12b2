"""The home folder: access, free space, and permissions."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, warn
from gaia_memory.database.file_permissions import chmod_command, find_accessible_to_others, with_mode

LOW_SPACE_BYTES = 200 * 1024**2
MIN_SPACE_BYTES = 20 * 1024**2
"""Bytes: an erasure writes a new store next to the old one, tens of megabytes for ten thousand facts."""

_MAX_NAMED_PATHS = 3


def check_home(context: CheckContext) -> list[Finding]:
    """Check that this user alone may use the home, and that its disk has space."""
    home = context.config.home
    nearest = next((path for path in (home, *home.parents) if os.path.lexists(path)), home)
    if not nearest.is_dir() or not has_access(nearest, os.R_OK | os.W_OK | os.X_OK):
        problem = "this user may not read and write" if nearest.is_dir() else "a file is in the way:"
        return fail(f"{problem} {nearest}", "change that, or name another folder: `home` or GAIA_HOME")
    findings = ok(f"{home} can be used" if nearest == home else f"{home} is created at the first start")
    return findings + _check_disk(nearest) + (_check_permissions(home) if nearest == home else [])


def _check_disk(folder: Path) -> list[Finding]:
    free = shutil.disk_usage(folder).free
    message, remedy = f"{free / 1024**2:,.0f} MB are free", "free some space: rewriting files after a forget needs it"
    if free < MIN_SPACE_BYTES:
        return fail(message, remedy)
    return warn(message, remedy) if free < LOW_SPACE_BYTES else ok(message)


def _check_permissions(home: Path) -> list[Finding]:
    accessible = [with_mode(path) for path in find_accessible_to_others(home)]
    if not accessible:
        return []
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
