"""What the command line says about itself, and what it costs to ask."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from support.cli.cli_runner import GAIA_COMMAND, run_gaia

HEAVY = ("google.adk", "google.genai", "mem0", "chromadb", "sqlalchemy", "alembic", "numpy")
COMMANDS = (
    ("chat",),
    ("demo",),
    ("init",),
    ("sweep",),
    ("memory", "list"),
    ("memory", "add"),
    ("memory", "search"),
    ("memory", "forget"),
    ("memory", "export"),
    ("memory", "import"),
    ("doctor",),
    ("config", "check"),
    ("config", "show"),
    ("config", "schema"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_has_an_example(command: tuple[str, ...]) -> None:
    """It says what the command does and shows how it is used."""
    done = run_gaia(*command, "--help")

    assert done.code == 0
    assert "Example" in done.out
    assert f"gaia {' '.join(command)}" in done.out


@pytest.mark.heavy
def test_the_help_loads_nothing_heavy() -> None:
    """Neither ADK nor mem0 nor a database library is imported to show the help."""
    code = f"""
import sys
from gaia_memory.cli import main
sys.argv = ["gaia", "--help"]
try:
    main()
except SystemExit:
    pass
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.heavy
def test_the_help_takes_little_longer_than_loading_what_prints_it() -> None:
    """The fastest of a few tries counts, beside its peer: the machine may be busy with something else."""

    def seconds(*command: str) -> float:
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - started

    def both() -> tuple[float, float]:
        return seconds(*GAIA_COMMAND, "--help"), seconds(sys.executable, "-c", "import typer, rich.markdown, asyncio")

    tries = [both()]
    while not (is_soon := min(own for own, _ in tries) < 3 * min(peer for _, peer in tries)) and len(tries) < 6:
        tries.append(both())

    assert is_soon, tries


def test_the_version_is_that_of_the_package() -> None:
    """`gaia --version` names package and version."""
    from importlib.metadata import version

    assert run_gaia("--version").out == f"gaia-memory {version('gaia-memory')}\n"


def test_completion_can_be_installed() -> None:
    """The help offers shell completion."""
    assert "--install-completion" in run_gaia("--help").out


def test_a_command_without_its_user_is_a_usage_error() -> None:
    """The exit code of wrong usage is 2, and the missing option is named."""
    done = run_gaia("memory", "list")

    assert done.code == 2
    assert "--user" in done.err
