"""Running `gaia`: in this process where that is enough, as a process of its own where it matters."""

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

COMMAND = (sys.executable, "-m", "gaia_memory.cli")
TIMEOUT = 60.0


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Standard output read as JSON."""
        return json.loads(self.out)


def gaia(*arguments: str, typed: str | bytes | None = None) -> Done:
    """Run a command in this process, with the environment of the test."""
    result = CliRunner().invoke(app, list(arguments), input=typed)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def gaia_process(
    *arguments: str, typed: str | bytes = "", environment: dict[str, str] | None = None, seconds: float = TIMEOUT
) -> Done:
    """Run a command as a process of its own."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=typed.encode() if isinstance(typed, str) else typed,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def offline_config(folder: Path, *lines: str) -> Path:
    """Write a configuration of these lines; the home is the one the test's environment names."""
    path = folder / "gaia.yaml"
    path.write_text("\n".join(["model: offline", *lines]), encoding="utf-8")
    return path


def home() -> Path:
    """Return the home that the test's environment names."""
    return Path(os.environ["GAIA_HOME"])
