"""`gaia` in an account without a name and without HOME, as containers have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.cli.cli_runner import GAIA_COMMAND
from support.hosts.unknown_user import UNKNOWN_USER, empty_environment, needs_root, open_folder

pytestmark = needs_root

SETTLED = """
import asyncio
from gaia_memory import open_memory

async def main():
    async with open_memory() as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "I like teal")
        await gaia.memory.settled()
        status = await gaia.memory.status(gaia.scope("ada"))
        print(status.state, status.lag)

asyncio.run(main())
"""

__all__ = ["open_folder"]


def chat(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Say one thing in `gaia chat`."""
    return subprocess.run(
        [*UNKNOWN_USER, *GAIA_COMMAND, "chat", "--user", "ada"],
        cwd=folder,
        env=empty_environment(**variables),
        input="I live in Hamburg.\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_gaia_home_is_all_that_memory_needs(open_folder: Path) -> None:
    """The turn is marked in the ledger, and learned later."""
    done = chat(open_folder, GAIA_HOME=str(open_folder / "home"))

    assert done.returncode == 0, done.stderr
    assert "This conversation waits to be learned" in done.stdout + done.stderr


@pytest.mark.slow
def test_the_mem0_store_follows(open_folder: Path) -> None:
    """Chroma asks for the home folder of the account when it is imported."""
    done = subprocess.run(
        [*UNKNOWN_USER, sys.executable, "-c", SETTLED],
        env=empty_environment(GAIA_HOME=str(open_folder / "home")),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "ok 0\n"), done.stderr


def test_without_gaia_home_the_error_names_it(open_folder: Path) -> None:
    """There is no folder to guess."""
    done = chat(open_folder)

    assert done.returncode == 1
    assert "home: '~/.gaia' is unknown, because HOME is not set; set GAIA_HOME" in done.stderr
