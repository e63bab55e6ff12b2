"""What the person says in the turn that runs here, also inside a tool that runs another agent."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from gaia_memory.adk.mapping import turns_of
from gaia_memory.models import Said

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.genai import types

_outer: ContextVar[types.Content | None] = ContextVar("outer", default=None)


def say_here(message: types.Content | None) -> None:
    """Let this be what the person says, for the tool that is called here and whatever runs in it."""
    _outer.set(message)


def said_in(run: ReadonlyContext) -> Said:
    """Return what the person says in a turn, and since when the model sees what is said.

    An agent inside a tool is told by the agent that calls it, which may well repeat what was forgotten.
    """
    message = _outer.get() or run.user_content
    text = "\n".join(part.text for part in (message.parts if message else None) or [] if part.text)
    seen = turns_of(run.session.events, turns_before=0)
    return Said(text=text, since=seen[0].messages[0].said_at.timestamp() if seen else time.time())
