"""Who holds a lease or talks: an engine of a process, named so that no other one ever has the same name."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

_SHOWN = 12
"""How many letters stand for a system."""

_HIDDEN = "?"
"""The start of a process that nobody here may look at."""

_ENDED = ("Z", "X", "x")
"""States of a process that is only kept for whoever asks how it ended."""

_retired: set[str] = set()


def this_process() -> str:
    """Return this process as `host:pid:system-start`; the host's name is for people, others may have it too."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_system()}-{_start(pid)}"


def new_owner() -> str:
    """Return a name for one of several owners in this process: what one gives back is not another's."""
    return f"{this_process()}/{secrets.token_hex(4)}"


def engine_of(owner: str) -> str:
    """Return the engine in whose name somebody talks: what stands before the turn in `process/engine/turn`."""
    return "/".join(owner.split("/")[:2])


def behind(engine: str) -> str:
    """Return what comes right behind all names of an engine's turns, compared by their bytes."""
    return f"{engine}{chr(ord('/') + 1)}"


def retire(owner: str) -> None:
    """Let an owner of this process count as gone: its event loop ended over it, so that it gives nothing back."""
    _retired.add(owner)


def owner_is_gone(owner: str) -> bool:
    """Say whether an owner was a process of this host that has ended; of another host nothing is known.

    So is one of this process that was retired, and who talks in its name. It reads the process table: call it in a
    worker thread.
    """
    if owner in _retired or owner.rpartition("/")[0] in _retired:
        return True
    host, _, process = owner.rpartition(":")[0].rpartition(":")
    system, _, noted = owner.rpartition(":")[2].partition("/")[0].partition("-")
    if (host, system) != (_host(), _system()) or not system or not process.isdecimal():
        return False
    return _start(int(process)) not in (noted, _HIDDEN)


async def those_gone(owners: Iterable[str | None]) -> list[str]:
    """Return those of some owners that are gone."""
    named = {owner for owner in owners if owner}
    return await asyncio.to_thread(lambda: [owner for owner in named if owner_is_gone(owner)]) if named else []


def _host() -> str:
    return platform.node() or "localhost"


def _system() -> str:
    """Return in which system a process id is that process, from its start to its end; blank where nobody can say.

    A name does not tell: two containers may have the same one, and each counts its processes from 1.
    """
    try:
        linux = sys.platform == "linux"
        told = _kernel_says("sys/kernel/random/boot_id") + os.readlink("/proc/self/ns/pid") if linux else _booted()
    except OSError:
        return ""
    return hashlib.sha256(told.encode()).hexdigest()[:_SHOWN]


def _booted() -> str:
    return f"{psutil.boot_time():.0f}"


def _start(pid: int) -> str | None:
    """Return when a process of this system has started; None where it has ended.

    A process id is used again after a while. On Linux it is told in ticks since the system's start: psutil adds them
    to a time of day, which another process computes otherwise once the clock was set.
    """
    if sys.platform != "linux":
        return _start_elsewhere(pid)
    try:
        state, *fields = _kernel_says(f"{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return _HIDDEN if _is_there(pid) else None
    return None if state in _ENDED else fields[18]


def _start_elsewhere(pid: int) -> str | None:
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return _HIDDEN


def _is_there(pid: int) -> bool:
    """Say whether a process runs whose files are hidden: /proc may show everybody only their own."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _kernel_says(name: str) -> str:
    return Path("/proc", name).read_text(encoding="utf-8", errors="replace")
