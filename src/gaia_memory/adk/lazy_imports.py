"""Imports what brings ADK along, beside the event loop."""

from __future__ import annotations

import asyncio
import importlib
import sys

_AGENT_MODULE = "google.adk.agents.base_agent"
_ADK_MODULES = (
    "conversation",
    "memory_service",
    "plugins.memory_plugin",
    "plugins.window_plugin",
    "runner",
    "sessions.session_service",
    "sessions.transcript",
    "tools",
)


async def load_adk_if_imported() -> None:
    """Import the ADK half where the program has agents: it will ask for a Runner, and nothing shall wait then."""
    if _AGENT_MODULE in sys.modules:
        await load_adk()


async def load_adk() -> None:
    """Import all that `Gaia` gives of ADK's; the event loop goes on meanwhile."""
    for module in _ADK_MODULES:
        await load_module(module)


async def load_module(module: str) -> None:
    """Import a module of this room; the event loop goes on meanwhile."""
    name = f"gaia_memory.adk.{module}"
    if name not in sys.modules:
        await asyncio.to_thread(importlib.import_module, name)
