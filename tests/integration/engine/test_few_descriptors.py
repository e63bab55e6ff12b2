"""Without a free file descriptor memory answers, or fails with an error of its own tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import asyncio, json, os, resource, sys
from gaia_memory import GaiaMemoryError, Scope, open_memory

ADA = Scope("gaia", "ada")
LIMITS = resource.getrlimit(resource.RLIMIT_NOFILE)

async def open_another():
    async with open_memory({"home": sys.argv[1] + "/another", "model": "offline"}):
        pass

async def main():
    config = {"home": sys.argv[1], "model": "offline", "memory": {"llm": {"provider": "offline"}}}
    async with open_memory(config) as gaia:
        await gaia.memory.add(ADA, [])
        if sys.argv[2] == "in a conversation":
            from google.adk.agents.llm_agent import LlmAgent
            talk = gaia.conversation(LlmAgent(name="a", model=gaia.model), user_id="ada", channel="cli")
        spare = len(os.listdir("/proc/self/fd")) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, LIMITS[1]))
        outcomes = {}
        calls = {
            "remember": lambda: gaia.memory.remember(ADA, "Likes tea"),
            "recall": lambda: gaia.memory.recall(ADA, "tea"),
            "status": lambda: gaia.memory.status(ADA),
            "sweep": lambda: gaia.sweep(force=True),
            "forget": lambda: gaia.memory.forget(ADA),
            "pending_erasures": gaia.memory.pending_erasures,
            "backup": lambda: gaia.memory.backup(sys.argv[1] + "/one.backup"),
            "open_memory": open_another,
            "search_memory": lambda: gaia.memory_service.search_memory(app_name="gaia", user_id="ada", query="tea"),
            "list_memories": lambda: gaia.memory_service.list_memories(app_name="gaia", user_id="ada"),
        }
        if sys.argv[2] == "in a conversation":
            calls |= {"send": lambda: talk.send("I like tea"), "command": lambda: talk.send("/memory")}
        for name, call in calls.items():
            try:
                await call()
                outcomes[name] = "ok"
            except GaiaMemoryError as error:
                outcomes[name] = "refused"
            except Exception as error:
                outcomes[name] = repr(error)
        resource.setrlimit(resource.RLIMIT_NOFILE, LIMITS)
    print(json.dumps(outcomes))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("use", ["alone", "in a conversation"])
def test_without_descriptors_no_bare_os_error_leaves_memory(tmp_path: Path, use: str) -> None:
    """mem0 is imported late, when the first text is embedded, and the folder of the store is listed."""
    (tmp_path / "store").mkdir(mode=0o700)
    environment = {**os.environ, "GEMINI_API_KEY": "AIzaSyD-0123456789-0123456789-0123456789"[:39]}
    environment["GOOGLE_GEMINI_BASE_URL"] = "http://127.0.0.1:9"
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path), use], env=environment, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
    outcomes = json.loads(ended.stdout.splitlines()[-1])
    assert set(outcomes.values()) <= {"ok", "refused"}, outcomes
