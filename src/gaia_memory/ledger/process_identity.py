"""Owner names of leases and turns: each names one engine of one process, and is never reused."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import uuid
from collections.abc import Iterable
from pathlib import Path

import psutil

from gaia_memory.threads import run_in_thread

_SYSTEM_ID_LENGTH = 12
"""Length of the system's id in an owner name."""

_PROCESS_TOKEN = secrets.token_hex(4)
"""Tells this process from an earlier one with the same id, such as that of a restarted container."""

_retired_owners: set[str] = set()


def process_name() -> str:
    """Return this process as `host:pid:system-token`; the host name is for people and need not be unique."""
    return f"{_host_name()}:{os.getpid()}:{_system_id()}-{_PROCESS_TOKEN}"


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

    Owners on other hosts are never reported as dead: their leases expire. So do those of a dead process whose id
    another program has now. The process table is read: call this in a worker thread.
    """
    if owner in _retired_owners or owner.rpartition("/")[0] in _retired_owners:
        return True
    host, _, pid = owner.rpartition(":")[0].rpartition(":")
    system, _, token = owner.rpartition(":")[2].partition("/")[0].partition("-")
    if (host, system) != (_host_name(), _system_id()) or not pid.isdecimal():
        return False
    return token != _PROCESS_TOKEN if int(pid) == os.getpid() else not _is_running(int(pid))


async def dead_owners(owners: Iterable[str | None]) -> list[str]:
    """Return the owners that are dead."""
    named = {owner for owner in owners if owner}
    return await run_in_thread(lambda: [owner for owner in named if is_owner_dead(owner)]) if named else []


def _host_name() -> str:
    return platform.node() or "localhost"


def _system_id() -> str:
    """Return an id of the system in which process ids are unique: two containers may share a host name."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        identity = boot_id + os.readlink("/proc/self/ns/pid")
    except OSError:
        identity = str(uuid.getnode())
    return hashlib.sha256(identity.encode()).hexdigest()[:_SYSTEM_ID_LENGTH]


def _is_running(pid: int) -> bool:
    """Return whether a process runs; one that only waits for its parent to read the exit code has ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False
