"""What a slash command is: a name, a line about it, and a function from a call to a reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gaia_memory.memory import Memory
from gaia_memory.models import Scope, SessionKey

Reset = Literal["cleared", "kept", "failed", "busy"]
"""How a reset ended: learned and cleared, learned and kept as configured, not learned, somebody else at work."""

MEMORY_OFF = "Memory is off. `memory.enabled: true` in gaia.yaml switches it on."


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person gets for one message.

    `command` names the slash command that made it. `merged` is true where a later message of the same burst
    carries the answer; `text` is empty then.
    """

    text: str
    command: str | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One use of a command: by whom, in which conversation, with what.

    `reset` learns the conversation and clears it.
    """

    scope: Scope
    key: SessionKey
    argument: str
    memory: Memory
    enabled: bool
    reset: Callable[[], Awaitable[Reset]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as people see it: `/name arguments`, with one line about it."""

    name: str
    summary: str
    run: Callable[[Call], Awaitable[str]]
    arguments: str = ""
    needs_memory: bool = True

    @property
    def usage(self) -> str:
        """The command as it is typed."""
        return f"/{self.name} {self.arguments}".rstrip()
