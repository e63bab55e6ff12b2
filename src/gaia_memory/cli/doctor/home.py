"""The home: can it be used, is there room, and who else may read it?"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import stat
from pathlib import Path

from gaia_memory.cli.doctor.finding import Finding, Patient, fail, ok, skipped, warn

LITTLE_SPACE = 200 * 1024**2
NO_SPACE = 20 * 1024**2
"""Bytes: a new store, which an erasure writes beside the old one, takes tens of megabytes with ten thousand facts."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
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
    open_to_others = [home] if _is_open(home) else []
    for folder, folders, files in os.walk(home):
        open_to_others += [path for path in (Path(folder, name) for name in (*folders, *files)) if _is_open(path)]
    if not open_to_others:
        return ok(part, "no other user may read the home")
    shown = ", ".join(f"{path} ({stat.filemode(path.stat().st_mode)})" for path in open_to_others[:_NAMED])
    more = f" and {len(open_to_others) - _NAMED} more" if len(open_to_others) > _NAMED else ""
    return warn(part, f"other users have rights to {shown}{more}", shlex.join(["chmod", "-R", "go=", str(home)]))


def may(path: Path, how: int) -> bool:
    """Say whether the user this process works as has these rights."""
    try:
        return os.access(path, how, effective_ids=True)
    except NotImplementedError:
        # Not every system tells the two apart.
        return os.access(path, how)


def _is_open(path: Path) -> bool:
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & _OTHERS)
    except FileNotFoundError:
        # A process at work removes files.
        return False


def _nearest(path: Path) -> Path:
    """Return a path or, where it is not there, the nearest one above it that is."""
    return next((above for above in (path, *path.parents) if os.path.lexists(above)), path)
