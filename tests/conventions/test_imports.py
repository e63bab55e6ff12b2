"""What a program or command loads in a fresh process: no heavy library before it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODELS_AND_STORES = ("mem0", "chromadb", "qdrant_client", "onnxruntime", "openai")
DATABASE = ("sqlalchemy", "alembic", "numpy")
ADK = ("google.adk", "google.genai", "aiohttp")
OTHER_DIALECTS = ("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql", "asyncpg")
AT_AN_OPEN_HOME = (*MODELS_AND_STORES, *ADK, *OTHER_DIALECTS, "alembic")

_COMMAND = """
import sys
sys.argv = ["gaia", *{arguments!r}]
from gaia_memory.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""

_A_LEARNED_CONVERSATION = """
import asyncio
from google.adk.agents import LlmAgent
from gaia_memory import open_memory
from gaia_memory.backend.mem0_store import follower
from gaia_memory.testing import ScriptedLlm

# The mem0 store is opened after a while, which a slow machine may need for the rest.
follower.START_DELAY_SECONDS = 3600

async def main():
    async with open_memory(None) as gaia:
        agent = LlmAgent(name="assistant", model=ScriptedLlm(default="Hello."))
        await gaia.conversation(agent, user_id="ada", channel="cli").send("My sister is called Noa.")
        assert (await gaia.sweep(force=True)).consolidated == 1
        hit, *_ = await gaia.memory.recall(gaia.scope("ada"), "What is my sister called?")
        assert "Noa" in hit.fact.text

asyncio.run(main())
"""


def command(*arguments: str) -> str:
    """Return a program that runs a command of `gaia`."""
    return _COMMAND.format(arguments=arguments)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one fact, so that its tables are up to date."""
    home = tmp_path_factory.mktemp("home")
    run_alone(command("memory", "add", "--user", "ada", "Likes tea."), home)
    return home


def run_alone(program: str, home: Path) -> set[str]:
    """Run a program without keys in a fresh process; return the modules it has loaded."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print('LOADED', *sys.modules)"],
        env=environment | {"HOME": str(home), "GAIA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        pytest.param(
            "from gaia_memory import MemoryPlugin, SessionWindowPlugin, open_memory",
            (*MODELS_AND_STORES, *DATABASE),
            marks=pytest.mark.slow,
        ),
        (command("--help"), (*MODELS_AND_STORES, *DATABASE, *ADK, "pydantic")),
        (command("memory", "search", "--user", "ada", "words that no fact contains"), AT_AN_OPEN_HOME),
        pytest.param(command("sweep"), AT_AN_OPEN_HOME, marks=pytest.mark.slow),
        (command("config", "check"), (*MODELS_AND_STORES, *ADK, *OTHER_DIALECTS, "alembic")),
        (_A_LEARNED_CONVERSATION, MODELS_AND_STORES),
    ],
    ids=[
        "plugins and open_memory",
        "help",
        "search",
        "sweep with nothing to do",
        "config check",
        "learned conversation",
    ],
)
def test_a_program_loads_no_library_that_it_does_not_use(home: Path, program: str, absent: tuple[str, ...]) -> None:
    """mem0 and Chroma take two seconds to import, ADK one, SQLAlchemy and Alembic half of one."""
    assert sorted(run_alone(program, home).intersection(absent)) == []
