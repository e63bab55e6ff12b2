"""Who holds a lease: a process, named so that no other one ever has the same name."""

from __future__ import annotations

import os
import platform
import secrets

import psutil


def this_process() -> str:
    """Return this process as `host:pid:start`."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_start(pid)}"


def new_owner() -> str:
    """Return a name for one of several owners in this process: what one gives back is not another's."""
    return f"{this_process()}/{secrets.token_hex(4)}"


def owner_is_gone(owner: str) -> bool:
    """Say whether an owner was a process of this host that has ended; of another host nothing is known.

    It reads the process table: call it in a worker thread.
    """
    host, _, process = owner.rpartition(":")[0].rpartition(":")
    start = owner.rpartition(":")[2].partition("/")[0]
    if host != _host() or not process.isdecimal():
        return False
    try:
        return _start(int(process)) != start
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def _host() -> str:
    return platform.node() or "localhost"


def _start(pid: int) -> str:
    # A process id is used again after a while, and after a restart of the host at once.
    return f"{psutil.Process(pid).create_time():.2f}"
