"""Recognises ADK's evaluations: memory of real users must neither change their outcome nor learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext

    from gaia_memory.engine_registry import EngineSource

EVALUATION_SESSION_PREFIXES = ("adk-eval-session-", "___eval___session___")
"""The id prefixes of ADK's evaluation sessions, in its current and older versions."""

_EVALUATION_MODULE_PREFIX = "google.adk.evaluation."


def must_skip_evaluation(invocation: InvocationContext, source: EngineSource) -> bool:
    """Return True if ADK evaluates an agent, and no memory was named for it explicitly: a plugin must skip this run."""
    # Late: a process without agents sweeps without importing ADK.
    from gaia_memory.adk.memory_service import Mem0MemoryService

    service = invocation.memory_service
    is_named = source.is_named or (isinstance(service, Mem0MemoryService) and service.source.is_named)
    plugins = invocation.plugin_manager.plugins
    return not is_named and any(type(plugin).__module__.startswith(_EVALUATION_MODULE_PREFIX) for plugin in plugins)


def is_evaluation_session(session_id: str) -> bool:
    """Return True for a session that ADK stored during an evaluation: a sweep must not learn it."""
    return session_id.startswith(EVALUATION_SESSION_PREFIXES)
