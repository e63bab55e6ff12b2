"""The table of mem0's functions in the architecture page is what one life of a memory calls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.servers.fake_gemini import FakeGemini, facts

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md"
LIFE = """
import asyncio, sys, threading

called = set()

def record(frame, event, argument):
    code = frame.f_code
    place = code.co_filename.replace("\\\\", "/").rpartition("/site-packages/mem0/")[2]
    parts = ("llms/", "embeddings/", "vector_stores/", "utils/factory", "memory/")
    named = "." in code.co_qualname and "<" not in code.co_qualname
    if event == "call" and named and place.startswith(parts):
        called.add(code.co_qualname)

sys.setprofile(record)
threading.setprofile(record)

from google.adk.agents import LlmAgent
from gaia_memory import open_memory
from gaia_memory.testing import ScriptedLlm

async def main():
    async with open_memory(None) as gaia:
        agent = LlmAgent(name="assistant", model=ScriptedLlm(default="Hello."))
        await gaia.conversation(agent, user_id="ada", channel="cli").send("My sister is called Noa.")
        await gaia.sweep(force=True)
        await gaia.memory.settled()
        await gaia.memory.recall(gaia.scope("ada"), "What is my sister called?")
        await gaia.memory.forget(gaia.scope("ada"))
        await gaia.memory.settled()

asyncio.run(main())
print("\\n".join(sorted(called)))
"""


def functions_of_a_life(home: Path, environment: dict[str, str]) -> set[str]:
    """Return the functions of mem0's that learn, embed, store, recall and forget."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = own | {"GAIA_HOME": str(home)} | environment
    done = subprocess.run([sys.executable, "-c", LIFE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return set(done.stdout.split())


@pytest.mark.slow
def test_the_architecture_page_names_the_functions_of_mem0_that_take_part(tmp_path: Path) -> None:
    """Keyless and with Gemini, from the first message to the erasure."""
    keyless = functions_of_a_life(tmp_path / "keyless", {})
    with FakeGemini() as gemini:
        gemini.set_default("extractor", facts("User's sister is called Noa"))
        with_gemini = functions_of_a_life(tmp_path / "gemini", gemini.environment)
    table = re.findall(r"^\| `([\w.]+)` \| (yes|) ?\| (yes|) ?\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert {name for name, is_keyless, _ in table if is_keyless} == keyless
    assert {name for name, _, is_gemini in table if is_gemini} == with_gemini
