"""Imports the modules that load ADK, off the event loop."""

from __future__ import annotations

import importlib
import sys

from gaia_memory.threads import run_in_thread

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
    """Import the ADK modules if the program has agents: it will need a Runner, which should not wait for imports."""
    if _AGENT_MODULE in sys.modules:
        await load_adk()


async def load_adk() -> None:
    """Import all modules of `Gaia` that need ADK, without blocking the event loop."""
    for module in _ADK_MODULES:
        await load_module(module)


async def load_module(module: str) -> None:
    """Import a module of this package without blocking the event loop."""
    name = f"gaia_memory.adk.{module}"
    if name not in sys.modules:
        await run_in_thread(importlib.import_module, name)
