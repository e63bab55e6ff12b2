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

_SYSTEM_ID_LENGTH = 12
"""How many letters stand for a system."""

_UNREADABLE_START = "?"
"""The start of a process that nobody here may look at."""

_ENDED_STATES = ("Z", "X", "x")
"""States of a process that is only kept for whoever asks how it ended."""

_retired_owners: set[str] = set()


def process_name() -> str:
    """Return this process as `host:pid:system-start`; the host's name is for people, others may have it too."""
    pid = os.getpid()
    return f"{_host_name()}:{pid}:{_system_id()}-{_start_time(pid)}"


def new_owner() -> str:
    """Return a name for one of several owners in this process: what one gives back is not another's."""
    return f"{process_name()}/{secrets.token_hex(4)}"


def engine_name(owner: str) -> str:
    """Return the engine in whose name somebody talks: what stands before the turn in `pid/engine/turn`."""
    return "/".join(owner.split("/")[:2])


def upper_bound(engine: str) -> str:
    """Return what comes right behind all names of an engine's turns, compared by their bytes."""
    return f"{engine}{chr(ord('/') + 1)}"


def mark_dead(owner: str) -> None:
    """Let an owner of this process count as gone: its event loop ended over it, so that it gives nothing back."""
    _retired_owners.add(owner)


def is_owner_dead(owner: str) -> bool:
    """Say whether an owner was a process of this host that has ended; of another host nothing is known.

    So is one of this process that was retired, and who talks in its name. It reads the process table: call it in a
    worker thread.
    """
    if owner in _retired_owners or owner.rpartition("/")[0] in _retired_owners:
        return True
    host, _, pid = owner.rpartition(":")[0].rpartition(":")
    system, _, recorded_start = owner.rpartition(":")[2].partition("/")[0].partition("-")
    if (host, system) != (_host_name(), _system_id()) or not system or not pid.isdecimal():
        return False
    return _start_time(int(pid)) not in (recorded_start, _UNREADABLE_START)


async def dead_owners(owners: Iterable[str | None]) -> list[str]:
    """Return those of some owners that are gone."""
    named = {owner for owner in owners if owner}
    return await asyncio.to_thread(lambda: [owner for owner in named if is_owner_dead(owner)]) if named else []


def _host_name() -> str:
    return platform.node() or "localhost"


def _system_id() -> str:
    """Return in which system a process id is that process, from its start to its end; blank where nobody can say.

    A name does not tell: two containers may have the same one, and each counts its processes from 1.
    """
    try:
        is_linux = sys.platform == "linux"
        identity = (
            _read_proc("sys/kernel/random/boot_id") + os.readlink("/proc/self/ns/pid") if is_linux else _boot_time()
        )
    except OSError:
        return ""
    return hashlib.sha256(identity.encode()).hexdigest()[:_SYSTEM_ID_LENGTH]


def _boot_time() -> str:
    return f"{psutil.boot_time():.0f}"


def _start_time(pid: int) -> str | None:
    """Return when a process of this system has started; None where it has ended.

    A process id is used again after a while. On Linux it is told in ticks since the system's start: psutil adds them
    to a time of day, which another process computes otherwise once the clock was set.
    """
    if sys.platform != "linux":
        return _psutil_start_time(pid)
    try:
        state, *fields = _read_proc(f"{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return _UNREADABLE_START if _process_exists(pid) else None
    return None if state in _ENDED_STATES else fields[18]


def _psutil_start_time(pid: int) -> str | None:
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return _UNREADABLE_START


def _process_exists(pid: int) -> bool:
    """Say whether a process runs whose files are hidden: /proc may show everybody only their own."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read_proc(name: str) -> str:
    return Path("/proc", name).read_text(encoding="utf-8", errors="replace")
