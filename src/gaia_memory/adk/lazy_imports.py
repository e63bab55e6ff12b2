"""Imports what brings ADK along, beside the event loop."""

from __future__ import annotations

import asyncio
import importlib
import sys

_AGENTS = "google.adk.agents.base_agent"
_HALF = (
    "conversation",
    "memory_service",
    "plugins.memory_plugin",
    "plugins.window_plugin",
    "runner",
    "sessions.session_service",
    "sessions.transcript",
    "tools",
)


async def load_for_a_host() -> None:
    """Import the ADK half where the program has agents: it will ask for a Runner, and nothing shall wait then."""
    if _AGENTS in sys.modules:
        await load_adk()


async def load_adk() -> None:
    """Import all that `Gaia` gives of ADK's; the event loop goes on meanwhile."""
    for module in _HALF:
        await load(module)


async def load(module: str) -> None:
    """Import a module of this room; the event loop goes on meanwhile."""
    name = f"gaia_memory.adk.{module}"
    if name not in sys.modules:
        await asyncio.to_thread(importlib.import_module, name)
