"""Imported by the process from which the killed processes are forked, which saves them the start-up time."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from importlib import import_module

from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.backend.providers.sentence_encoder import load_model
from support.kill import kill_process
from support.servers.fake_gemini import FakeGemini

PRELOADED_MODULES = (
    kill_process.__name__,
    "apscheduler.executors.asyncio",
    "apscheduler.schedulers.asyncio",
    "apscheduler.triggers.interval",
    "asyncpg",
    "chromadb.api.rust",
    "chromadb.telemetry.product.posthog",
    "filelock",
    "gaia_memory.keyless.statements",
    "mem0.configs.vector_stores.chroma",
    "mem0.llms.gemini",
    "mem0.utils.spacy_models",
    "mem0.vector_stores.chroma",
)


async def run_turn_without_memory(home: str) -> None:
    """Have ADK and the Gemini client build their objects of a first turn; no store is opened."""
    settings = {"memory": {"enabled": False}, "sessions": {"coalesce_seconds": 0}}
    async with open_memory(settings, home=home) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model)
        await gaia.conversation(agent, user_id="u", channel="c").send("hello")


def warm_up() -> None:
    """Import and build everything, and leave no running thread: a fork would lack it."""
    for name in PRELOADED_MODULES:
        import_module(name)
    load_model()
    with FakeGemini() as gemini, tempfile.TemporaryDirectory() as home:
        os.environ.update(gemini.environment)
        asyncio.run(run_turn_without_memory(home))
    deadline = time.monotonic() + 60
    while threading.active_count() > 1:
        assert time.monotonic() < deadline, f"these threads would be missing in a fork: {threading.enumerate()}"
        time.sleep(0.01)


warm_up()
