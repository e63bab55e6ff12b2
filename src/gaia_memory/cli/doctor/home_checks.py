"""The home: can it be used, is there room, and who else may read it?"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from gaia_memory.cli.doctor.checks import Finding, Patient, fail, ok, skipped, warn
from gaia_memory.database.file_permissions import closing, open_to_others, shown

LITTLE_SPACE = 200 * 1024**2
NO_SPACE = 20 * 1024**2
"""Bytes: a new store, which an erasure writes beside the old one, takes tens of megabytes with ten thousand facts."""

_NAMED = 3


async def usable(patient: Patient) -> list[Finding]:
    """Look whether the home is a folder in which this user may work, or can be made."""
    return await asyncio.to_thread(_usable, patient.config.home)


def _usable(home: Path) -> list[Finding]:
    part = "home"
    choose = "or name another folder: `home` or GAIA_HOME"
    nearest = _nearest(home)
    if not nearest.is_dir():
        return fail(part, f"{nearest} is no folder", f"move it away, {choose}")
    if not may(nearest, os.R_OK | os.W_OK | os.X_OK):
        return fail(part, f"{nearest} may not be read and written by this user", f"let yourself use it, {choose}")
    if nearest != home:
        return ok(part, f"{home} is made at the first start")
    return ok(part, f"{home} can be used")


async def space(patient: Patient) -> list[Finding]:
    """Look whether there is room left where the home is."""
    part = "disk"
    free = (await asyncio.to_thread(shutil.disk_usage, _nearest(patient.config.home))).free
    says = f"{free / 1024**2:,.0f} MB are free"
    if free < NO_SPACE:
        return fail(part, says, "make room: nothing can be kept on a full disk")
    if free < LITTLE_SPACE:
        return warn(part, says, "make room: rewriting the files after a forget takes some")
    return ok(part, says)


async def rights(patient: Patient) -> list[Finding]:
    """Look whether others may read what is stored."""
    return await asyncio.to_thread(_rights, patient.config.home)


def _rights(home: Path) -> list[Finding]:
    part = "rights"
    if os.name != "posix":
        return skipped(part, "this system has no such rights")
    if not home.is_dir():
        return skipped(part, "nothing is stored yet")
    found = list(open_to_others(home))
    if not found:
        return ok(part, "no other user may read the home")
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return warn(part, f"other users have rights to {', '.join(map(shown, found[:_NAMED]))}{more}", closing(home))


def may(path: Path, how: int) -> bool:
    """Say whether the user this process works as has these rights."""
    try:
        return os.access(path, how, effective_ids=True)
    except NotImplementedError:
        # Not every system tells the two apart.
        return os.access(path, how)


def _nearest(path: Path) -> Path:
    """Return a path or, where it is not there, the nearest one above it that is."""
    return next((above for above in (path, *path.parents) if os.path.lexists(above)), path)
