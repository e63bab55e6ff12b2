"""The ranges of versions that `pyproject.toml` declares are true at their lower ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.checkout import ROOT


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_fast_tests_pass_with_the_lowest_versions(tmp_path: Path) -> None:
    """Whoever pins an older version in the range gets a package that works; the tools of the tests are the newest."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    run(str(python), "-m", "pip", "install", "-q", "uv")
    install = [str(python), "-m", "uv", "pip", "install", "-q", "--python", str(python)]
    run(*install, "--resolution", "lowest-direct", f"{ROOT}[postgres]")
    run(*install, *extras["dev"])
    sqlalchemy = "import sqlalchemy; print(sqlalchemy.__version__)"
    assert run(str(python), "-c", sqlalchemy).strip() == "2.0.40"

    run(str(python), "-m", "pytest", "-m", "fast", "-n", "auto", "-p", "no:cacheprovider", "-p", "no:anyio")


def run(*command: str) -> str:
    """Return what a command prints; fail with it."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "COV_"))}
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    return result.stdout
