"""The effect of importing mem0, observed in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gaia_memory.backend.extraction_question import PROMPT_VERSIONS

_PROGRAM = """
import asyncio, json, logging, os, sys
from pathlib import Path
import gaia_memory.backend.builder as builder
from gaia_memory.backend.mem0_store.chroma.folders import EmbeddedLocation
from gaia_memory.backend.mem0_store.store import StoreLabel
from gaia_memory.config.schema import GaiaConfig

before = sorted(name for name in ("mem0", "chromadb", "google.genai", "google.adk") if name in sys.modules)
seen = {}

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("mem0", "chromadb"):
            seen[name] = [os.environ.get(key) for key in ("MEM0_TELEMETRY", "ANONYMIZED_TELEMETRY", "MEM0_DIR")]

sys.meta_path.insert(0, Watch())
logging.getLogger("urllib3").setLevel(logging.ERROR)
home = Path(sys.argv[1])

async def main():
    backend = builder.Backend(GaiaConfig(home=home))
    create = EmbeddedLocation(backend, home / "store").create
    store = await backend.pools.store.run(create, StoreLabel("0" * 32, backend.embedder.identity), ())
    await backend.embedder.embed(["x"], purpose="add")
    from mem0.utils import spacy_models
    await backend.pools.store.run(store.close)
    await backend.close()
    return spacy_models._load_failed_full, spacy_models._load_failed_lemma

guarded = asyncio.run(main())
import threading
print(json.dumps({
    "before": before,
    "seen": seen,
    "urllib3": logging.getLogger("urllib3").level,
    "guarded": guarded,
    "threads": sorted(thread.name for thread in threading.enumerate() if not thread.daemon),
    "written": sorted(str(path.relative_to(home.parent)) for path in home.parent.rglob("*") if path.is_file()),
}))
"""


@pytest.mark.slow
@pytest.mark.acceptance("L05")
def test_mem0_is_imported_without_telemetry_and_the_process_exits_quickly(tmp_path: Path) -> None:
    """The environment is set before the first import; nothing is written outside the home."""
    home = tmp_path / "user" / "gaia"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MEM0_", "ANONYMIZED_"))}
    environ["HOME"] = str(tmp_path / "user")
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _PROGRAM, str(home)], env=environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    started = time.monotonic()
    process.wait(timeout=60)
    process.stdout.close()

    assert process.returncode == 0
    assert time.monotonic() - started < 30
    assert told["before"] == []
    assert told["seen"]["mem0"] == ["False", "False", str(home / "mem0")]
    assert told["seen"]["chromadb"] == ["False", "False", str(home / "mem0")]
    assert told["guarded"] == [True, True]
    assert told["urllib3"] == 40
    assert told["threads"] == ["MainThread"]
    assert {path.split("/")[0] for path in told["written"]} == {"gaia"}


_EXTRACTION = """
import asyncio, json, sys, time
from datetime import UTC, datetime
from pathlib import Path
import gaia_memory.backend.builder as builder
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.models import Chunk, EventPosition, Message, SessionKey, Turn

class OwnModel:
    name, is_offline = "big-model", False

    async def complete(self, prompt, *, system, options):
        return json.dumps({"memory": [{"id": "0", "text": "User likes tea", "attributed_to": "user"}]})

async def main():
    memory = {"llm": {"provider": "agent"}, "extraction_prompt": sys.argv[2]}
    backend = builder.Backend(GaiaConfig(home=Path(sys.argv[1]), memory=memory))
    backend.agent_models.adopt("app", OwnModel())
    now = datetime.now(UTC)
    message = Message(role="user", text="I like tea", said_at=now, event_id="e", speaker="user")
    turn = Turn(seq=1, messages=(message,), end=EventPosition(0.0, "e"))
    chunk = Chunk(key=SessionKey("app", "ada", "s"), turns=(turn,))
    facts = await backend.extractor.extract(chunk, instructions="", check=lambda facts, *, prompt: facts)
    await backend.close()
    return facts

[fact] = asyncio.run(main())
print(json.dumps({"extractor": fact.extractor, "mem0": "mem0" in sys.modules}))
"""


@pytest.mark.parametrize(("prompt", "loads_mem0"), [("gaia", False), ("mem0", True)])
def test_extraction_with_our_own_prompt_loads_no_mem0(prompt: str, loads_mem0: bool, tmp_path: Path) -> None:
    """With the agent's own model. The name of the prompt is stored with the fact."""
    command = [sys.executable, "-c", _EXTRACTION, str(tmp_path), prompt]
    done = subprocess.run(
        command, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == {"extractor": f"agent/own-model/{PROMPT_VERSIONS[prompt]}", "mem0": loads_mem0}
