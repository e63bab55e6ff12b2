"""Owners are told apart: whatever a dead owner held is free at once, whatever a living one holds is not."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest
from sqlalchemy import text as sql

from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.ledger import is_owner_dead, new_owner, process_name
from support.kill.kill_harness import Installation
from support.servers.fake_gemini import Kind

MakeSite = Callable[..., Installation]

ASKS = """
import sys
from gaia_memory.ledger import new_owner, is_owner_dead
print(new_owner(), flush=True)
for line in sys.stdin:
    print(is_owner_dead(line.strip()), flush=True)
"""
CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A process table of its own, as a container has; the host's name stays."""


class Asked:
    """A process that reports whether owners are dead."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.name = self._line()

    def is_gone(self, name: str) -> bool:
        """Ask the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return {"True": True, "False": False}[self._line()]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def asked(*around: str) -> Iterator[Asked]:
    """Run a process that reports whether owners are dead."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [*around, sys.executable, "-c", ASKS]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Asked(process)
        finally:
            process.kill()


def can_contain() -> bool:
    """Say whether containers can be created on this machine."""
    return bool(shutil.which("unshare")) and not subprocess.run([*CONTAINER, "true"], check=False).returncode


def pid_of(name: str) -> str:
    """Return the process id in an owner's name."""
    return name.split(":")[1]


@pytest.mark.slow
def test_two_containers_with_equal_names_and_pids_never_take_each_other_for_dead() -> None:
    """Neither does the host, where that pid is another process; it cannot know even after they have ended."""
    if not can_contain():
        pytest.skip("no container can be made here")
    with asked(*CONTAINER) as one, asked(*CONTAINER) as two:
        told = [one.is_gone(two.name), two.is_gone(one.name), one.is_gone(new_owner()), is_owner_dead(one.name)]
        itself = [one.is_gone(one.name), one.is_gone(one.name.replace("-", "-1"))]

    assert pid_of(one.name) == pid_of(two.name)
    assert one.name.partition(":")[0] == two.name.partition(":")[0] == process_name().partition(":")[0]
    assert told == [False] * 4
    assert itself == [False, True]
    assert not is_owner_dead(one.name)


def test_a_killed_process_counts_as_dead_before_it_is_reaped() -> None:
    """In a container whose first process reaps nothing, zombies stay in the process table forever."""
    with asked() as here:
        before = is_owner_dead(here.name)
        here.process.kill()
        os.waitid(os.P_PID, here.process.pid, os.WEXITED | os.WNOWAIT)
        state = psutil.Process(here.process.pid).status()
        after = is_owner_dead(here.name)

    assert (before, state, after) == (False, psutil.STATUS_ZOMBIE, True)
    assert is_owner_dead(here.name)


def test_an_earlier_process_with_the_id_of_this_one_is_gone() -> None:
    """A restarted container numbers its processes from 1 again."""
    earlier = process_name().rpartition("-")[0] + "-00000000/a1b2"

    assert pid_of(earlier) == str(os.getpid())
    assert is_owner_dead(earlier)


def test_a_process_of_another_user_is_not_taken_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """This user may not inspect it."""

    def refuses(process: psutil.Process) -> str:
        raise psutil.AccessDenied(process.pid)

    with asked() as here:
        monkeypatch.setattr(psutil.Process, "status", refuses)

        assert not is_owner_dead(here.name)


async def _held_for_long(here: Installation) -> list[str]:
    """Extend every lease far beyond the timeout of the test; return the owners."""
    engine = open_engine(load(dict(here.settings), home=here.home).config.memory_url)
    try:
        async with engine.begin() as tx:
            found = []
            for table, name, until, seconds in HELD:
                later = f"UPDATE {table} SET {until} = {until} + {seconds} WHERE {until} IS NOT NULL RETURNING {name}"
                found += (await tx.execute(sql(later))).scalars()
            return found
    finally:
        await engine.dispose()


HELD = (
    ("gaia_conversations", "lease_owner", "lease_until", 250),
    ("gaia_conversations", "active_owner", "active_until", 250),
    ("gaia_store", "owner", "owned_until", 86_400),
)
"""With how many seconds may be added: a mark that ends later than it can counts as over."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["agent", "extractor"])
def test_everything_held_by_a_killed_process_is_taken_over_at_once(site: MakeSite, kind: Kind) -> None:
    """Its turn, the conversation it was learning, and the store: no lease would expire during this test."""
    here = site(kind="postgresql")
    here.run(here.new_messages(1))
    worker = here.start(here.new_messages(1), here.new_bulk_facts(1))
    here.gemini.kill_on_request(kind, 1, "asked", worker.process.kill)
    here.wait_for_workers(worker)
    held = asyncio.run(_held_for_long(here))

    assert worker.was_killed
    assert {"agent": 1, "extractor": 2}[kind] <= len(held)
    assert all(is_owner_dead(name) for name in held)

    here.run(here.new_messages(1))
    here.finish()
