"""Stored files are accessible to their owner alone, whatever the umask of the process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli.cli_runner import GAIA_COMMAND, CommandResult

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no such rights")

ALL = """
import asyncio, os, sys
from pathlib import Path
from google.adk.agents.llm_agent import LlmAgent
from gaia_memory import open_memory

def modes():
    home = Path(os.environ["GAIA_HOME"])
    for path in (home, *sorted(home.rglob("*"))):
        if os.stat(path).st_mode & 0o077:
            print(oct(os.stat(path).st_mode), path)

async def main():
    os.umask(0)
    async with open_memory("gaia.yaml") as gaia:
        talk = gaia.conversation(LlmAgent(name="a", model=gaia.model), user_id="ada", channel="cli")
        await talk.send("I like tea")
        await gaia.memory.remember(gaia.scope("ada"), "Has a dog")
        await gaia.sweep(force=True)
        await gaia.memory.settled()
        modes()
        await gaia.memory.forget(gaia.scope("ada"))
        await gaia.memory.settled()
        modes()

asyncio.run(main())
modes()
print("done", len(list(Path(os.environ["GAIA_HOME"]).rglob("*"))))
"""


def careless(folder: Path, *command: str, typed: str = "") -> CommandResult:
    """Run a command with a umask that gives everyone all permissions."""
    environment = {**os.environ, "GAIA_HOME": str(folder / "home")}
    done = subprocess.run(
        command, cwd=folder, env=environment, umask=0, input=typed, capture_output=True, text=True, check=False
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def open_files(folder: Path) -> dict[str, str]:
    """Return the files and folders that others may access, with their modes."""
    found = {path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    return {name: f"{mode:04o}" for name, mode in found.items() if mode & 0o077}


@pytest.mark.slow
def test_everything_under_the_home_belongs_to_its_owner_alone_while_open_and_after(tmp_path: Path) -> None:
    """Databases, their logs, the store, its lock, mem0's own files; during learning and forgetting."""
    (tmp_path / "gaia.yaml").write_text("model: offline\nsessions: {coalesce_seconds: 0}\n", encoding="utf-8")
    done = careless(tmp_path, sys.executable, "-c", ALL)

    assert done.code == 0, done.err
    [last] = done.out.splitlines()
    assert last.startswith("done ")
    assert int(last.split()[1]) > 5


@pytest.mark.slow
def test_commands_write_no_file_that_others_may_read_or_everyone_may_write(tmp_path: Path) -> None:
    """An export contains a user's memory; a configuration contains no key, but names the admins."""
    for command in (
        ("init", "agents", "--agent", "assistant"),
        ("memory", "add", "-u", "ada", "likes tea"),
        ("memory", "export", "-u", "ada", "-o", "ada.json"),
        ("memory", "forget", "-u", "ada", "-y"),
    ):
        done = careless(tmp_path, *GAIA_COMMAND, *command)
        assert done.code == 0, done.err

    found = open_files(tmp_path)
    assert {name for name in found if name.startswith(("home", "ada.json"))} == set()
    assert (tmp_path / "ada.json").is_file()
    assert found["agents/gaia.yaml"] == "0644"
    assert {name for name, mode in found.items() if int(mode, 8) & 0o002} == set()


@pytest.mark.slow
def test_a_home_readable_by_others_is_reported_once_with_the_fix(tmp_path: Path) -> None:
    """At the start of any process, and by the doctor; after the fix no longer."""
    (tmp_path / "home").mkdir(mode=0o755)
    (tmp_path / "home").chmod(0o755)
    twice = "import asyncio\nfrom gaia_memory import open_memory\nasync def main():\n    for _ in range(2):\n"
    twice += "        async with open_memory() as gaia:\n            await gaia.memory.status(gaia.scope('ada'))\n"
    started = careless(tmp_path, sys.executable, "-c", f"{twice}asyncio.run(main())")
    listed = careless(tmp_path, *GAIA_COMMAND, "memory", "list", "-u", "ada")
    examined = careless(tmp_path, *GAIA_COMMAND, "doctor", "--no-model")
    remedy = f"chmod -R go= {tmp_path / 'home'}"
    subprocess.run(remedy.split(), check=True)
    closed = careless(tmp_path, *GAIA_COMMAND, "memory", "list", "-u", "ada")

    told = f"other users of this machine have permissions on {tmp_path / 'home'} (mode 0755)"
    assert (started.err.count(told), started.err.count(remedy)) == (1, 1)
    assert (listed.err.count(told), listed.err.count(remedy)) == (1, 1)
    assert f"{tmp_path / 'home'} (mode 0755)" in examined.out
    assert remedy in examined.out
    assert "other users" not in closed.err


@pytest.mark.slow
def test_an_existing_database_in_a_closed_home_is_checked_too(tmp_path: Path) -> None:
    """A manually restored copy often has other permissions; an empty home causes no warning."""
    (tmp_path / "home").mkdir(mode=0o755)
    first = careless(tmp_path, *GAIA_COMMAND, "memory", "list", "-u", "ada")
    (tmp_path / "home").chmod(0o700)
    (tmp_path / "home" / "memory.db").chmod(0o640)
    listed = careless(tmp_path, *GAIA_COMMAND, "memory", "list", "-u", "ada")

    assert "other users" not in first.err
    assert f"{tmp_path / 'home' / 'memory.db'} (mode 0640)" in listed.err


@pytest.mark.slow
def test_a_database_outside_the_home_is_checked_too(tmp_path: Path) -> None:
    """A file created beforehand keeps its permissions."""
    database = tmp_path / "memory.db"
    database.touch()
    database.chmod(0o644)
    (tmp_path / "gaia.yaml").write_text(f"memory: {{database_url: 'sqlite:///{database}'}}\n", encoding="utf-8")
    listed = careless(tmp_path, *GAIA_COMMAND, "memory", "list", "-u", "ada", "-c", "gaia.yaml")

    assert f"{database} (mode 0644)" in listed.err
    assert f"chmod go= {database}" in listed.err
