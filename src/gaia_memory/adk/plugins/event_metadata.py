"""Metadata on the events of a run: ADK copies a RunConfig's metadata to each event that it appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from google.adk.agents.run_config import RunConfig

from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY, metadata_keys

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types


def set_metadata(invocation: InvocationContext, name: str, value: str | bool) -> None:
    """Make ADK add metadata to every later event of this invocation; the caller's RunConfig is not changed."""
    run_config = invocation.run_config or RunConfig()
    metadata = {**(run_config.custom_metadata or {}), name: value}
    invocation.run_config = run_config.model_copy(update={"custom_metadata": metadata})


def clear_metadata(invocation: InvocationContext, name: str) -> None:
    """Make ADK leave this metadata out of later events of this invocation."""
    run_config = invocation.run_config or RunConfig()
    metadata = {key: value for key, value in (run_config.custom_metadata or {}).items() if key != name}
    invocation.run_config = run_config.model_copy(update={"custom_metadata": metadata or None})


def is_private(run: InvocationContext | ToolContext) -> bool:
    """Return True if the messages of a run are private."""
    return bool(run.run_config and (run.run_config.custom_metadata or {}).get(PRIVATE_KEY))


def answers_private_call(events: Sequence[Event], message: types.Content | None) -> bool:
    """Return True if a message answers a call of a private turn, which makes the answer private too."""
    responses = [part.function_response for part in (message.parts if message else None) or []]
    answered_ids = {response.id for response in responses if response}
    private_events = [event for event in events if PRIVATE_KEY in metadata_keys(event)]
    return any(call.id in answered_ids for event in private_events for call in event.get_function_calls())
