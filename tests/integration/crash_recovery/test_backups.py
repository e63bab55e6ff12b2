"""A backup or a restore that is killed leaves no half file and a whole home."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import gaia_memory
from gaia_memory import NewFact, open_memory
from gaia_memory.models import Scope
from support.storage.residual_data import SearchTerms, find_residual_data

ADA = Scope("gaia", "ada")
KILLED = """
import importlib, os, signal, sys
from pathlib import Path

where, count, action, *arguments = sys.argv[1:]
module, _, name = where.rpartition(".")
owner = importlib.import_module(module)
real, calls = getattr(owner, name), 0

def killing(*args, **options):
    global calls
    calls += 1
    if calls == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)

if action == "backup":
    from gaia_memory.backup.write_backup import write_backup
    from gaia_memory.config.sources.load import load
    work = lambda: write_backup(load(None, home=arguments[0]), Path(arguments[1]), overwrite=True)
else:
    from gaia_memory.backup.restore import restore
    work = lambda: restore(arguments[1], home=arguments[0], force=True)
setattr(owner, name, killing)
work()
"""
RESTORE_KILLS = {
    "while the first file is unpacked": ("gaia_memory.backup.restore.find_damage", 1),
    "between two files": ("gaia_memory.backup.restore.find_damage", 2),
    "before the forgets are carried over": ("gaia_memory.backup.restore.apply_forgets", 1),
    "before the files are replaced": ("gaia_memory.database.files.file_swap.sync_to_disk", 1),
    "before the list is in force": ("os.replace", 1),
    "before the first replacement": ("os.replace", 2),
    "between two replacements": ("os.replace", 3),
    "before the list is removed": ("gaia_memory.database.files.file_swap.sync_to_disk", 2),
}


def run_killed(where: str, count: int, *arguments: str) -> None:
    """Run a backup or a restore in a process that is killed at the given call of a function."""
    command = [sys.executable, "-c", KILLED, where, str(count), *arguments]
    ended = subprocess.run(command, env={**os.environ, "GAIA_CONFIG": ""}, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


async def fill(home: Path, count: int) -> None:
    """Write facts, and a session database of the same state."""
    async with open_memory(home=home, model="offline") as gaia:
        known = len(await gaia.memory.facts(ADA))
        await gaia.memory.add(ADA, [NewFact(f"Owns book {number}") for number in range(known, count)])
    with closing(sqlite3.connect(home / "sessions.db")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS sessions (id TEXT)")
        connection.executemany("INSERT INTO sessions VALUES (?)", [("x",)] * (count - known))
        connection.commit()


async def state(home: Path) -> tuple[int, int, str]:
    """Return how many facts and sessions a home has, and whether its database is intact."""
    async with open_memory(home=home, model="offline") as gaia:
        facts = len(await gaia.memory.facts(ADA))
    with closing(sqlite3.connect(home / "sessions.db")) as connection:
        [sessions] = connection.execute("SELECT count(*) FROM sessions").fetchone()
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        [check] = connection.execute("PRAGMA integrity_check").fetchone()
    return facts, sessions, check


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("os.replace", 1),
        ("gaia_memory.backup.write_backup.write_archive", 1),
        ("gaia_memory.backup.write_backup.copy_databases", 1),
    ],
)
def test_a_killed_backup_leaves_no_half_file(tmp_path: Path, where: str, count: int) -> None:
    """An earlier backup of that name stays as it was, and the next one succeeds."""
    home, file = tmp_path / "home", tmp_path / "b"
    asyncio.run(fill(home, 20))
    run_killed(where, count, "backup", str(home), str(file))
    assert not file.exists()
    file.write_bytes(b"earlier")
    run_killed(where, count, "backup", str(home), str(file))

    assert file.read_bytes() == b"earlier"
    assert asyncio.run(state(home)) == (20, 20, "ok")

    async def back_up() -> None:
        async with open_memory(home=home, model="offline") as gaia:
            await gaia.memory.backup(tmp_path / "another")

    asyncio.run(back_up())
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kill", RESTORE_KILLS)
def test_a_killed_restore_leaves_the_old_home_or_the_new_one(tmp_path: Path, kill: str) -> None:
    """Never a mixture; and the next restore succeeds and leaves no file behind."""
    home, file = tmp_path / "home", tmp_path / "b"
    asyncio.run(fill(home, 10))

    async def back_up() -> None:
        async with open_memory(home=home, model="offline") as gaia:
            await gaia.memory.backup(file)

    asyncio.run(back_up())
    asyncio.run(fill(home, 30))
    where, count = RESTORE_KILLS[kill]
    run_killed(where, count, "restore", str(home), str(file))
    is_new = kill in list(RESTORE_KILLS)[-3:]

    assert asyncio.run(state(home)) == ((10, 10, "ok") if is_new else (30, 30, "ok"))
    gaia_memory.restore(file, home=home, force=True)
    assert asyncio.run(state(home)) == (10, 10, "ok")
    assert not {path.name for path in home.iterdir() if path.name.startswith((".", "restore"))}


@pytest.mark.acceptance("C11")
async def test_a_forget_reaches_what_a_killed_restore_left(tmp_path: Path) -> None:
    """The copy that it had unpacked beside the database."""
    home, file, word = tmp_path / "home", tmp_path / "b", "quzvrkpltmnxw"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.add(ADA, [NewFact(f"Keeps the {word} at home")])
        await gaia.memory.backup(file)
    where, count = RESTORE_KILLS["before the files are replaced"]
    await asyncio.to_thread(run_killed, where, count, "restore", str(home), str(file))
    assert any(word.encode() in path.read_bytes() for path in home.glob(".*.staged"))

    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.forget(ADA)
        await gaia.memory.settled()
    assert await find_residual_data(home, SearchTerms([word], [])) == []
