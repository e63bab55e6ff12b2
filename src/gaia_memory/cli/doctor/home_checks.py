"""The home folder: access, free space, and permissions."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.database.file_permissions import chmod_command, find_accessible_to_others, with_mode

LOW_SPACE_BYTES = 200 * 1024**2
MIN_SPACE_BYTES = 20 * 1024**2
"""Bytes: an erasure writes a new store next to the old one, tens of megabytes for ten thousand facts."""

_MAX_NAMED_PATHS = 3


async def check_home(context: CheckContext) -> list[Finding]:
    """Check that the home is, or can become, a folder this user may write to."""
    return await asyncio.to_thread(_check_home, context.config.home)


def _check_home(home: Path) -> list[Finding]:
    part = "home"
    alternative = "or name another folder: `home` or GAIA_HOME"
    nearest = _nearest_existing(home)
    if not nearest.is_dir():
        return fail(part, f"{nearest} is no folder", f"move it away, {alternative}")
    if not has_access(nearest, os.R_OK | os.W_OK | os.X_OK):
        return fail(part, f"this user may not read and write {nearest}", f"change its permissions, {alternative}")
    if nearest != home:
        return ok(part, f"{home} is created at the first start")
    return ok(part, f"{home} can be used")


async def check_disk(context: CheckContext) -> list[Finding]:
    """Check the free space of the disk that has the home."""
    part = "disk"
    free = (await asyncio.to_thread(shutil.disk_usage, _nearest_existing(context.config.home))).free
    message = f"{free / 1024**2:,.0f} MB are free"
    if free < MIN_SPACE_BYTES:
        return fail(part, message, "free some space: nothing can be stored on a full disk")
    if free < LOW_SPACE_BYTES:
        return warn(part, message, "free some space: rewriting the files after a forget needs it")
    return ok(part, message)


async def check_permissions(context: CheckContext) -> list[Finding]:
    """Check whether other users may read the files."""
    return await asyncio.to_thread(_check_permissions, context.config.home)


def _check_permissions(home: Path) -> list[Finding]:
    part = "rights"
    if os.name != "posix":
        return skip(part, "this system has no POSIX permissions")
    if not home.is_dir():
        return skip(part, "nothing is stored yet")
    accessible = list(find_accessible_to_others(home))
    if not accessible:
        return ok(part, "no other user may read the home")
    more = f" and {len(accessible) - _MAX_NAMED_PATHS} more" if len(accessible) > _MAX_NAMED_PATHS else ""
    return warn(
        part,
        f"other users have access to {', '.join(map(with_mode, accessible[:_MAX_NAMED_PATHS]))}{more}",
        chmod_command(home),
    )


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
