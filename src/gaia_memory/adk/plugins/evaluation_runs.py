"""Whether ADK runs an agent only to judge it: `adk eval`, `adk optimize`, `adk test`."""

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
    """Say whether a plugin has to keep out of this run: it is a trial, and nobody named the memory for it.

    What people are remembered by, found through the environment, must neither change its outcome nor learn from it.
    """
    service = invocation.memory_service
    is_named = source.is_named or (isinstance(service, Mem0MemoryService) and service.source.is_named)
    return not is_named and is_evaluation(invocation)


def is_evaluation(invocation: InvocationContext) -> bool:
    """Say whether this run belongs to an evaluation or to recorded tests, and to nobody who talks to the agent."""
    plugins = invocation.plugin_manager.plugins
    return any(
        type(plugin).__module__.startswith(_EVALUATION_MODULE_PREFIX) for plugin in plugins
    ) or _is_recording_test(invocation)


def _is_recording_test(invocation: InvocationContext) -> bool:
    """Say whether `adk test` replays a recording, or makes one.

    Its runner has no mark of its own. It runs in a process that knows the folder of the tests, or names
    what it does where pytest names its test; and always for one and the same user, in memory.
    """
    runs_tests = "ADK_TEST_FOLDER" in os.environ or os.environ.get("PYTEST_CURRENT_TEST") == "rebuild"
    session_service = invocation.session_service
    return runs_tests and isinstance(session_service, InMemorySessionService) and invocation.user_id == _TEST_USER
