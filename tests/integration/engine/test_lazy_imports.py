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
from gaia_memory.models import Scope
from gaia_memory.testing import ScriptedLlm
from support.conversations import open_conversations
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

_FIRST_USE = """
async def main():
    async with open_memory(None, home=home) as gaia:
        before = loaded()
        model = gaia.model
        kind = type(gaia.session_service).__mro__[1].__name__
        session = await gaia.session_service.create_session(app_name="gaia", user_id="ada")
    return {"before": before, "kind": kind, "user": session.user_id, "loaded": loaded()[:2]}
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
def test_adk_is_imported_on_the_first_use_of_an_adk_object(tmp_path: Path) -> None:
    """A program without an agent may still get a Runner."""
    told = run_alone(_FIRST_USE, tmp_path / "home")

    assert told == {
        "before": [],
        "kind": "DatabaseSessionService",
        "user": "ada",
        "loaded": ["google.adk", "google.genai"],
    }


@pytest.mark.slow
async def test_a_sweep_learns_an_earlier_process_conversation_and_imports_adk_for_it(tmp_path: Path) -> None:
    """There are sessions to read, so ADK is imported; the next process finds nothing to read."""
    home = tmp_path / "home"
    async with open_memory({"sessions": {"clear": "keep"}}, home=home) as gaia:
        talk = gaia.conversation(build_agent(ScriptedLlm(default="ok")), user_id="ada", channel="cli")
        await talk.send("My sister is called Noa.")
    first = await alone(_SWEEP, home)
    second = await alone(_SWEEP, home)

    assert first["consolidated"] == 1
    assert any("Noa" in fact for fact in first["facts"])
    assert first["loaded"][:2] == ["google.adk", "google.genai"]
    assert second["consolidated"] == 0
    assert second["facts"] == first["facts"]


@pytest.mark.slow
async def test_a_sweep_over_learned_sessions_does_not_import_adk(tmp_path: Path) -> None:
    """The table alone shows which of them have changed."""
    home = tmp_path / "home"
    async with open_memory({"sessions": {"clear": "keep"}}, home=home) as gaia:
        talk = gaia.conversation(build_agent(ScriptedLlm(default="ok")), user_id="ada", channel="cli")
        await talk.send("My sister is called Noa.")
        await gaia.sweep(force=True)
    told = await alone(_SWEEP, home)

    assert told["consolidated"] == 0
    assert any("Noa" in fact for fact in told["facts"])
    assert told["loaded"] == []


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


async def test_a_conversation_is_read_through_the_session_service_of_its_runner(tmp_path: Path) -> None:
    """The plugin and the opened memory share one transcript: no session is listed twice."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok")) as talks:
        await talks.send("My sister is called Noa.")
        transcripts = talks.engine.transcripts.for_app("gaia")
        report = await talks.gaia.sweep(force=True)
        facts = [fact.text for fact in await talks.gaia.memory.facts(Scope("gaia", "itay"))]

    assert len(transcripts) == 1
    assert transcripts[0].clear_method == "delete"
    assert report.consolidated == 1
    assert any("Noa" in fact for fact in facts)


@pytest.mark.parametrize("app", ["gaia", "club"])
async def test_every_open_memory_reads_its_own_sessions(tmp_path: Path, app: str) -> None:
    """Transcripts over different databases, or of different apps, are not equal."""
    async with open_memory({"app": app}, home=tmp_path / "one") as one, open_memory(None, home=tmp_path / "two") as two:
        [first], [second] = one._engine.transcripts.for_app(app), two._engine.transcripts.for_app("gaia")
        _ = one.session_service

    assert first != second
    assert second != first
