"""Runs `run_gaia`: in this process where that is enough, otherwise as a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from gaia_memory.cli.app import app

GAIA_COMMAND = (sys.executable, "-m", "gaia_memory.cli")
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class CommandResult:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def json_output(self) -> Any:
        """Standard output parsed as JSON."""
        return json.loads(self.out)


def run_gaia(*arguments: str, stdin: str | bytes | None = None) -> CommandResult:
    """Run a command in this process, with the environment of the test."""
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CommandResult(result.exit_code, result.stdout, result.stderr)


def run_gaia_process(
    *arguments: str,
    stdin: str | bytes = "",
    environment: dict[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> CommandResult:
    """Run a command in a child process."""
    completed = subprocess.run(
        [*GAIA_COMMAND, *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        timeout=timeout_seconds,
        check=False,
    )
    return CommandResult(completed.returncode, completed.stdout.decode(), completed.stderr.decode())


def write_offline_config(folder: Path, *lines: str) -> Path:
    """Write a configuration of these lines; the test's environment names the home."""
    path = folder / "gaia.yaml"
    path.write_text("\n".join(["model: offline", *lines]), encoding="utf-8")
    return path


def gaia_home() -> Path:
    """Return the home that the test's environment names."""
    return Path(os.environ["GAIA_HOME"])
