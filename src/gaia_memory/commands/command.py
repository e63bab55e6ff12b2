"""What a slash command is: a name, a line about it, and a function from a call to a reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol

from gaia_memory.memory import Memory
from gaia_memory.models import Scope, SessionKey
from gaia_memory.sessions.pending_confirmations import PendingConfirmations

ResetOutcome = Literal["cleared", "kept", "failed", "busy"]
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


class PrivacyStore(Protocol):
    """Whether what is said in a conversation is learned."""

    async def is_private(self, key: SessionKey) -> bool:
        """Say whether nothing said in a conversation is learned."""

    async def set_private(self, key: SessionKey, is_private: bool) -> None:
        """Let it be so, or not, from now on."""


class ConfirmationStore(Protocol):
    """Whether some rows were shown in a conversation that a yes forgets: whoever asked may have ended since."""

    async def has_pending_confirmation(self, key: SessionKey) -> bool:
        """Say whether that waits for its answer."""

    async def set_pending_confirmation(self, key: SessionKey, is_pending: bool) -> None:
        """Let it be so, or not, from now on."""


class Settings(Protocol):
    """The configuration in force, as an admin may change it."""

    async def change(self, path: tuple[str, str], value: object) -> bool:
        """Set one setting of a section, in force at once; True where it stands in a file now.

        Raises:
            ConfigError: that cannot be done; it says why.
        """

    async def validate_change(self, path: tuple[str, str], value: object) -> None:
        """Return if a setting that takes effect after a restart could be this; nothing is changed.

        Raises:
            ConfigError: it could not; it says why.
        """

    async def change_at_restart(self, path: tuple[str, str], value: object) -> bool:
        """Write such a setting into the configuration's file; False where it is in force already.

        Raises:
            ConfigError: that cannot be done; it says why, and nothing is written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One use of a command: by whom, in which conversation, with what.

    `is_admin` says whether it may change `settings`, which are everybody's. `pending_confirmations` is what was shown
    before a yes, and `confirmation_store` know of it after a restart, too; `reset` learns the conversation and clears
    it.
    """

    scope: Scope
    key: SessionKey
    argument: str
    memory: Memory
    privacy: PrivacyStore
    pending_confirmations: PendingConfirmations
    confirmation_store: ConfirmationStore
    is_memory_enabled: bool
    settings: Settings
    is_admin: bool
    reset: Callable[[], Awaitable[ResetOutcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command as people see it: `/name arguments`, with one line about it.

    It works while memory is off where it does not need it, or for the arguments in `arguments_while_disabled`.
    """

    name: str
    summary: str
    run: Callable[[Call], Awaitable[str]]
    arguments: str = ""
    needs_memory: bool = True
    arguments_while_disabled: Collection[str] = ()

    @property
    def usage(self) -> str:
        """The command as it is typed."""
        return f"/{self.name} {self.arguments}".rstrip()

    def needs_memory_for(self, argument: str) -> bool:
        """Say whether this use of it says nothing but that memory is off while it is."""
        return self.needs_memory and argument.casefold() not in self.arguments_while_disabled
