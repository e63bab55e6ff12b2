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
        message = f"{nearest} is no folder that this user may read and write"
        return fail(message, "change that, or name another folder: `home` or GAIA_HOME")
    findings = ok(f"{home} can be used" if nearest == home else f"{home} is created at the first start")
    free = shutil.disk_usage(nearest).free
    state = fail if free < MIN_SPACE_BYTES else warn if free < LOW_SPACE_BYTES else None
    message, remedy = f"{free / 1024**2:,.0f} MB are free", "free some space: rewriting files after a forget needs it"
    findings += state(message, remedy) if state else ok(message)
    if accessible := [with_mode(path) for path in find_accessible_to_others(home)] if nearest == home else []:
        more = f" and {len(accessible) - _MAX_NAMED_PATHS} more" if len(accessible) > _MAX_NAMED_PATHS else ""
        named = ", ".join(accessible[:_MAX_NAMED_PATHS])
        findings += warn(f"other users have access to {named}{more}", chmod_command(home))
    return findings


def has_access(path: Path, mode: int) -> bool:
    """Return whether the effective user of this process has this access."""
    try:
        return os.access(path, mode, effective_ids=True)
    except NotImplementedError:
        # Not every system distinguishes the effective user.
        return os.access(path, mode)
