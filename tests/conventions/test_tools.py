"""The linter, the type checker and the import contracts report nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.checkout import ROOT, SOURCE


def run(*arguments: str) -> None:
    """Run a Python program in the checkout, and fail with its output."""
    # The checkout's source comes first, even if the package is installed as a copy.
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_ruff_reports_nothing():
    """The rules are in pyproject.toml."""
    run("-m", "ruff", "check", "--no-cache", "--output-format=concise", ".")


def test_the_code_is_formatted():
    """`ruff format` changes nothing."""
    run("-m", "ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_mypy_reports_nothing():
    """It checks all of src in strict mode."""
    run("-m", "mypy", "--no-error-summary", "--no-pretty")


def test_imports_follow_the_layers(tmp_path: Path):
    """The layers and the borders of the stores are in pyproject.toml."""
    command = "import sys; from importlinter.cli import lint_imports_command as lint; lint()"
    run("-c", command, "--no-logo", "--cache-dir", str(tmp_path))
