"""The home: can it be used, is there room, and who else may read it?"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.database.file_permissions import chmod_command, find_accessible_to_others, with_mode

LOW_SPACE_BYTES = 200 * 1024**2
MIN_SPACE_BYTES = 20 * 1024**2
"""Bytes: a new store, which an erasure writes beside the old one, takes tens of megabytes with ten thousand facts."""

_MAX_NAMED_PATHS = 3


async def check_home(context: CheckContext) -> list[Finding]:
    """Look whether the home is a folder in which this user may work, or can be made."""
    return await asyncio.to_thread(_check_home, context.config.home)


def _check_home(home: Path) -> list[Finding]:
    part = "home"
    alternative = "or name another folder: `home` or GAIA_HOME"
    nearest = _nearest_existing(home)
    if not nearest.is_dir():
        return fail(part, f"{nearest} is no folder", f"move it away, {alternative}")
    if not has_access(nearest, os.R_OK | os.W_OK | os.X_OK):
        return fail(part, f"{nearest} may not be read and written by this user", f"let yourself use it, {alternative}")
    if nearest != home:
        return ok(part, f"{home} is made at the first start")
    return ok(part, f"{home} can be used")


async def check_disk(context: CheckContext) -> list[Finding]:
    """Look whether there is room left where the home is."""
    part = "disk"
    free = (await asyncio.to_thread(shutil.disk_usage, _nearest_existing(context.config.home))).free
    message = f"{free / 1024**2:,.0f} MB are free"
    if free < MIN_SPACE_BYTES:
        return fail(part, message, "make room: nothing can be kept on a full disk")
    if free < LOW_SPACE_BYTES:
        return warn(part, message, "make room: rewriting the files after a forget takes some")
    return ok(part, message)


async def check_permissions(context: CheckContext) -> list[Finding]:
    """Look whether others may read what is stored."""
    return await asyncio.to_thread(_check_permissions, context.config.home)


def _check_permissions(home: Path) -> list[Finding]:
    part = "rights"
    if os.name != "posix":
        return skip(part, "this system has no such rights")
    if not home.is_dir():
        return skip(part, "nothing is stored yet")
    accessible = list(find_accessible_to_others(home))
    if not accessible:
        return ok(part, "no other user may read the home")
    more = f" and {len(accessible) - _MAX_NAMED_PATHS} more" if len(accessible) > _MAX_NAMED_PATHS else ""
    return warn(
        part,
        f"other users have rights to {', '.join(map(with_mode, accessible[:_MAX_NAMED_PATHS]))}{more}",
        chmod_command(home),
    )


def has_access(path: Path, mode: int) -> bool:
    """Say whether the user this process works as has these rights."""
    try:
        return os.access(path, mode, effective_ids=True)
    except NotImplementedError:
        # Not every system tells the two apart.
        return os.access(path, mode)


def _nearest_existing(path: Path) -> Path:
    """Return a path or, where it is not there, the nearest one above it that is."""
    return next((above for above in (path, *path.parents) if os.path.lexists(above)), path)
