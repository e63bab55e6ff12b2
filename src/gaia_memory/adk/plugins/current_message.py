"""What the person says in the turn that runs here, also inside a tool that runs another agent."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from gaia_memory.adk.sessions.event_mapping import turns_of
from gaia_memory.models import UserStatement

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext

_tool_message: ContextVar[UserStatement | None] = ContextVar("outer", default=None)


def set_current_message(run: ReadonlyContext) -> None:
    """Let what the person says in this turn be it for the tool that is called here and whatever runs in it."""
    _tool_message.set(_message_of(run))


def current_message(run: ReadonlyContext) -> UserStatement:
    """Return what the person says in a turn, and since when the model sees what is said.

    An agent inside a tool is told by the agent that calls it, which may well repeat what was forgotten.
    """
    return _tool_message.get() or _message_of(run)


def _message_of(run: ReadonlyContext) -> UserStatement:
    message, now = run.user_content, time.time()
    text = "\n".join(part.text for part in (message.parts if message else None) or [] if part.text)
    events = run.session.events
    at = min((event.timestamp for event in events if event.invocation_id == run.invocation_id), default=now)
    visible_turns = turns_of(events, turns_before=0)
    return UserStatement(
        text=text,
        turn_started_at=at,
        visible_since=visible_turns[0].messages[0].said_at.timestamp() if visible_turns else now,
    )
