"""ADK is imported only when it is needed, observed in child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OF_ADK = ("google.adk", "google.genai", "aiohttp", "websockets", "httpx2")

_BEGIN = f"""
import asyncio, json, sys
from pathlib import Path
from gaia_memory import NewFact, open_memory

home = Path(sys.argv[1])

def loaded():
    return [name for name in {OF_ADK!r} if name in sys.modules]
"""

_MEMORY_ALONE = """
async def main():
    async with open_memory(None, home=home) as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [NewFact("Ada is allergic to nuts.")])
        await gaia.memory.remember(scope, "Ada lives in Berlin.")
        hits = await gaia.memory.recall(scope, "Where does Ada live?")
        await gaia.memory.profile(scope)
        await gaia.memory.settled()
        report = await gaia.sweep(force=True)
        # The background sweep has begun by now, too.
        await gaia.memory.forget(scope)
        await gaia.memory.settled()
        state = (await gaia.memory.status(scope)).state
    return {"hit": hits[0].fact.text, "state": state, "skipped": report.skipped, "loaded": loaded()}
"""


_END = "\nprint(json.dumps(asyncio.run(main())))"


def run_alone(program: str, home: Path) -> dict[str, Any]:
    """Run a program in a child process and return its report."""
    environ = {**os.environ, "GAIA_HOME": str(home), "HOME": str(home.parent)}
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + program + _END, str(home)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.slow
def test_a_program_that_only_remembers_and_recalls_never_imports_adk(tmp_path: Path) -> None:
    """Opening, following, sweeping and forgetting do not need it; and no session database is created."""
    told = run_alone(_MEMORY_ALONE, tmp_path / "home")

    assert told == {"hit": "Ada lives in Berlin.", "state": "ok", "skipped": 0, "loaded": []}
    assert not (tmp_path / "home" / "sessions.db").exists()
