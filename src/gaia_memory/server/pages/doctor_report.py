"""The findings of `gaia doctor`, for the page about health."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

_TIMEOUT_SECONDS = 60.0
_NO_ANSWER = {
    "state": "warn",
    "part": "doctor",
    "says": "the checks gave no answer",
    "remedy": "run `gaia doctor --no-model` in a terminal",
}


async def load_findings(home: Path, config_file: Path | None) -> list[dict[str, str]]:
    """Return what is right and wrong with a home, without asking a model.

    A process of its own checks it from outside, as a person in a terminal would.
    """
    command = [sys.executable, "-m", "gaia_memory.cli", "doctor", "--no-model", "--json"]
    if config_file is not None:
        command += ["--config", str(config_file)]
    environ = {**os.environ, "GAIA_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environ
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_SECONDS)
        findings: list[dict[str, str]] = json.loads(output)["findings"]
    except (TimeoutError, ValueError, KeyError):
        return [_NO_ANSWER]
    else:
        return findings if os.environ.get("GAIA_HOME") else _without_variable(findings, "GAIA_HOME")
    finally:
        if process.returncode is None:
            process.kill()


def _without_variable(findings: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    """Return the findings without a variable that is only set for the process of the checks."""
    kept = []
    for finding in findings:
        start, colon, names = finding["says"].partition(": ")
        if finding["part"] == "environment" and start.startswith("in force") and name in names.split(", "):
            others = [each for each in names.split(", ") if each != name]
            kept += [{**finding, "says": f"{start}{colon}{', '.join(others)}"}] if others else []
        else:
            kept.append(finding)
    return kept
