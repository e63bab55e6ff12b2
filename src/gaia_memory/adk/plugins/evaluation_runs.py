"""Detects runs in which ADK evaluates an agent: `adk eval`, `adk optimize`, `adk test`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from google.adk.sessions.in_memory_session_service import InMemorySessionService

from gaia_memory.adk.memory_service import Mem0MemoryService

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext

    from gaia_memory.adk.engine_source import EngineSource

_EVALUATION_MODULE_PREFIX = "google.adk.evaluation."
_TEST_USER = "test_user"


def should_skip(invocation: InvocationContext, source: EngineSource) -> bool:
    """Return True if a plugin must skip this run: it is an evaluation, and no memory was named for it explicitly.

    A memory of real users, found through the environment, must neither change its outcome nor learn from it.
    """
    service = invocation.memory_service
    is_named = source.is_named or (isinstance(service, Mem0MemoryService) and service.source.is_named)
    return not is_named and is_evaluation(invocation)


def is_evaluation(invocation: InvocationContext) -> bool:
    """Return True if this run belongs to an evaluation or to recorded tests, not to a user."""
    plugins = invocation.plugin_manager.plugins
    return any(
        type(plugin).__module__.startswith(_EVALUATION_MODULE_PREFIX) for plugin in plugins
    ) or _is_recording_test(invocation)


def _is_recording_test(invocation: InvocationContext) -> bool:
    """Return True if `adk test` replays or makes a recording.

    Its Runner cannot be recognised. The process has ADK_TEST_FOLDER set, or "rebuild" as pytest's current test; and
    the run always has the same user and sessions in memory.
    """
    runs_tests = "ADK_TEST_FOLDER" in os.environ or os.environ.get("PYTEST_CURRENT_TEST") == "rebuild"
    session_service = invocation.session_service
    return runs_tests and isinstance(session_service, InMemorySessionService) and invocation.user_id == _TEST_USER
