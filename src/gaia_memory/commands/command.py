"""The values of a slash command: its name and summary, one use of it, and the reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING, Literal, Protocol

from gaia_memory.models import LearnedFacts, Scope, SessionKey, ToolChange
from gaia_memory.sessions.pending_confirmations import PendingConfirmations

if TYPE_CHECKING:
    from gaia_memory.memory import Memory

ResetOutcome = Literal["cleared", "failed", "busy"]
"""How a reset ended.

`cleared`: learned and cleared. `kept`: learned, and kept as configured. `failed`: not learned. `busy`: another turn or
process holds the conversation.
"""

MEMORY_OFF = "Memory is off. Set `memory.enabled: true` in gaia.yaml to switch it on."


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one message.

    `command` names the slash command that made it. `merged` is true if a later message of the same burst carries the
    answer; `text` is then empty. `changes` are what tools remembered, changed and forgot in the turn.
    """

    text: str
    command: str | None = None
    merged: bool = False
    changes: list[ToolChange] = field(default_factory=list)


class ConversationFlags(Protocol):
    """The flags of a conversation that outlive the process."""

    async def is_private(self, key: SessionKey) -> bool:
        """Return whether the conversation is private: nothing said in it is learned."""

    async def set_private(self, key: SessionKey, is_private: bool) -> None:
        """Make the conversation private, or end that."""

    async def note_command(self, scope: Scope, key: SessionKey, name: str, *, began_at: float) -> None:
        """Count a command that was typed, unless the conversation is private."""

    async def has_pending_confirmation(self, key: SessionKey) -> bool:
        """Return whether `/forget` showed some rows in the conversation and waits for a yes."""

    async def set_pending_confirmation(self, key: SessionKey, is_pending: bool) -> None:
        """Record whether `/forget` waits for a yes about some rows."""


class ActiveContext(Protocol):
    """The context of a person that new facts belong to, and whose facts the agent sees; and their time zone."""

    async def active(self) -> str:
        """Return its name; `global` if none is active."""

    async def time_zone(self) -> tzinfo | None:
        """Return the zone of their times; None for `memory.time_zone`.

        Raises:
            InvalidInputError: the host has set one that does not exist.
        """

    async def activate(self, name: str) -> None:
        """Make another context the active one, in all conversations of the person."""


class Settings(Protocol):
    """The configuration in force, as an admin may change it.

    Each method raises `ConfigError` with the reason if the change is not possible; nothing is written then.
    """

    async def change(self, path: tuple[str, str], value: object) -> bool:
        """Change one setting, with immediate effect; return True if it was written to a file."""

    async def validate_change(self, path: tuple[str, str], value: object) -> None:
        """Check a setting that takes effect after a restart, without changing anything."""

    async def change_at_restart(self, path: tuple[str, str], value: object) -> bool:
        """Write a setting that takes effect after a restart; return False if it is already in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One use of a command: who used it, in which conversation, with which argument.

    `is_admin` allows changes to `settings`, which apply to all users. `pending_confirmations` keeps what this process
    showed before it asks for a yes. `reset` learns the conversation and clears it; it adds the new facts to `learned`.
    """

    scope: Scope
    key: SessionKey
    argument: str
    memory: Memory
    flags: ConversationFlags
    pending_confirmations: PendingConfirmations
    settings: Settings
    context: ActiveContext
    is_admin: bool
    reset: Callable[[], Awaitable[ResetOutcome]]
    learned: LearnedFacts = field(default_factory=LearnedFacts)

    @property
    def is_memory_enabled(self) -> bool:
        """Whether memory is on in the configuration in force."""
        return self.memory.config.memory.enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as users see it: `/name arguments` and a one-line summary.

    While memory is off, a command works only if it does not need memory or its argument is in
    `arguments_while_disabled`.
    """

    name: str
    summary: str
    run: Callable[[Call], Awaitable[str]]
    arguments: str = ""
    needs_memory: bool = True
    arguments_while_disabled: Collection[str] = ()

    @property
    def usage(self) -> str:
        """The command as a user types it."""
        return f"/{self.name} {self.arguments}".rstrip()

    def needs_memory_for(self, argument: str) -> bool:
        """Return whether the command refuses this argument while memory is off."""
        return self.needs_memory and argument.casefold() not in self.arguments_while_disabled
