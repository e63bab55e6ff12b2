"""What the person says in the turn that runs here, also inside a tool that runs another agent."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.genai import types

_outer: ContextVar[types.Content | None] = ContextVar("outer", default=None)


def say_here(message: types.Content | None) -> None:
    """Let this be what the person says, for the tool that is called here and whatever runs in it."""
    _outer.set(message)


def said_in(run: ReadonlyContext) -> str:
    """Return the text of what the person says in a turn.

    An agent inside a tool is told by the agent that calls it, which may well repeat what was forgotten.
    """
    message = _outer.get() or run.user_content
    return "\n".join(part.text for part in (message.parts if message else None) or [] if part.text)
