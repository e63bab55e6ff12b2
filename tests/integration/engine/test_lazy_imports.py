"""ADK is imported only when it is needed, observed in child processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from gaia_memory import open_memory
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.testing import ScriptedLlm
from support.plugin_host import build_agent

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

_SWEEP = """
async def main():
    async with open_memory(None, home=home) as gaia:
        before = loaded()
        report = await gaia.sweep(force=True)
        facts = [fact.text for fact in await gaia.memory.facts(gaia.scope("ada"))]
    return {"before": before, "consolidated": report.consolidated, "facts": facts, "loaded": loaded()}
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


async def alone(program: str, home: Path) -> dict[str, Any]:
    """Do so without blocking the event loop."""
    return await asyncio.to_thread(run_alone, program, home)


@pytest.mark.slow
def test_a_program_that_only_remembers_and_recalls_never_imports_adk(tmp_path: Path) -> None:
    """Opening, following, sweeping and forgetting do not need it; and no session database is created."""
    told = run_alone(_MEMORY_ALONE, tmp_path / "home")

    assert told == {"hit": "Ada lives in Berlin.", "state": "ok", "skipped": 0, "loaded": []}
    assert not (tmp_path / "home" / "sessions.db").exists()


@pytest.mark.slow
async def test_sessions_without_a_recorded_schema_version_are_read_with_adk(tmp_path: Path) -> None:
    """A process killed while it created the tables leaves them like this."""
    home = tmp_path / "home"
    async with open_memory(None, home=home) as gaia:
        talk = gaia.conversation(build_agent(ScriptedLlm(default="ok")), user_id="ada", channel="cli")
        await talk.send("My sister is called Noa.")
    sessions = open_engine(f"sqlite:///{home}/sessions.db")
    async with sessions.begin() as connection:
        await connection.execute(text("DELETE FROM adk_internal_metadata"))
    await sessions.dispose()
    told = await alone(_SWEEP, home)

    assert (told["before"], told["consolidated"]) == ([], 1)
    assert any("Noa" in fact for fact in told["facts"])
