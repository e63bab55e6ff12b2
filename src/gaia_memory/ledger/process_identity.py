"""Owner names of leases and turns: each names one engine of one process, and is never reused."""

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
"""Length of the system's id in an owner name."""

_UNREADABLE_START = "?"
"""The start time of a process that this process may not inspect."""

_ENDED_STATES = ("Z", "X", "x")
"""States of a process that has ended and only waits for its parent to read the exit code."""

_retired_owners: set[str] = set()


def process_name() -> str:
    """Return this process as `host:pid:system-start`; the host name is for people and need not be unique."""
    pid = os.getpid()
    return f"{_host_name()}:{pid}:{_system_id()}-{_start_time(pid)}"


def new_owner() -> str:
    """Return a unique name for one of several owners in this process, so that each releases only its own leases."""
    return f"{process_name()}/{secrets.token_hex(4)}"


def engine_name(owner: str) -> str:
    """Return the engine part of an owner name: `process/engine` of `process/engine/turn`."""
    return "/".join(owner.split("/")[:2])


def upper_bound(engine: str) -> str:
    """Return the smallest string that sorts after the names of all turns of an engine, compared by bytes."""
    return f"{engine}{chr(ord('/') + 1)}"


def mark_dead(owner: str) -> None:
    """Declare an owner of this process dead: its event loop has ended, so it cannot release its leases."""
    _retired_owners.add(owner)


def is_owner_dead(owner: str) -> bool:
    """Return True if the owner's process on this host has ended, or the owner or its engine was marked dead.

    Owners on other hosts are never reported as dead. The process table is read: call this in a worker thread.
    """
    if owner in _retired_owners or owner.rpartition("/")[0] in _retired_owners:
        return True
    host, _, pid = owner.rpartition(":")[0].rpartition(":")
    system, _, recorded_start = owner.rpartition(":")[2].partition("/")[0].partition("-")
    if (host, system) != (_host_name(), _system_id()) or not system or not pid.isdecimal():
        return False
    return _start_time(int(pid)) not in (recorded_start, _UNREADABLE_START)


async def dead_owners(owners: Iterable[str | None]) -> list[str]:
    """Return the owners that are dead."""
    named = {owner for owner in owners if owner}
    return await asyncio.to_thread(lambda: [owner for owner in named if is_owner_dead(owner)]) if named else []


def _host_name() -> str:
    return platform.node() or "localhost"


def _system_id() -> str:
    """Return an id of the system in which process ids are unique; empty if it cannot be determined.

    The host name is not enough: two containers may share one, and each numbers its processes from 1.
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
    """Return the start time of a process of this system; None if it has ended.

    It tells processes with a reused id apart. On Linux it is in ticks since boot: psutil converts them to a time of
    day, which differs between processes after the clock was set.
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
    """Return True if a process runs; /proc may hide the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read_proc(name: str) -> str:
    return Path("/proc", name).read_text(encoding="utf-8", errors="replace")
