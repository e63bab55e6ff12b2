"""The active context of a person: the one that new facts belong to, and whose facts the agent sees.

It stands in the session's state under `user:memory_context`, so that all sessions of the person share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gaia_memory.adk.sessions.event_mapping import TIME_ZONE_KEY, require_zone
from gaia_memory.log import logger_for
from gaia_memory.models import DEFAULT_CONTEXT
from gaia_memory.models.validation import is_label, require_label

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.state import State
    from google.adk.tools.tool_context import ToolContext

    from gaia_memory.models import SessionKey

logger = logger_for(__name__)

_NAME = "memory_context"
ACTIVE_CONTEXT_KEY = f"user:{_NAME}"
"""Key in a session's state: the name of the active context."""


def active_context(state: Mapping[str, Any] | State) -> str:
    """Return the active context in a session's state: `global` without one, or for a value that can be none."""
    return _checked(state.get(ACTIVE_CONTEXT_KEY))


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The active context and the time zone of the person of a conversation, whose session may not exist yet.

    `state` is that of a session that was loaded already, if there is one.
    """

    sessions: BaseSessionService
    key: SessionKey
    state: Mapping[str, Any] | None = None

    async def active(self) -> str:
        """Return the active context."""
        return _checked(await self._value(ACTIVE_CONTEXT_KEY))

    async def time_zone(self) -> tzinfo | None:
        """Return the time zone of the person; None for that of the configuration.

        Raises:
            InvalidInputError: `user:time_zone` is no time zone.
        """
        return await require_zone(await self._value(TIME_ZONE_KEY))

    async def activate(self, name: str) -> None:
        """Make a context the active one.

        A session of its own carries it to the session service: an event in the person's would make a turn that another
        process runs in it stale.
        """
        person = {"app_name": self.key.app, "user_id": self.key.user}
        carrier = f"{self.key.user}:{_NAME}:{uuid4()}"
        await self.sessions.create_session(**person, session_id=carrier, state={ACTIVE_CONTEXT_KEY: name})
        await self.sessions.delete_session(**person, session_id=carrier)

    async def _value(self, key: str) -> Any:
        if self.state is not None:
            return self.state.get(key)
        state = await self.sessions.get_user_state(app_name=self.key.app, user_id=self.key.user)
        return state.get(key.removeprefix("user:"))


def switch_context(tool_context: ToolContext, name: str) -> str:
    """Make a context the active one from a tool, from the next call on; return its name.

    Raises:
        InvalidInputError: the name is blank, too long, or has control characters.
    """
    require_label("context", name)
    active = context_of(name)
    tool_context.state[ACTIVE_CONTEXT_KEY] = active
    return active


def context_of(name: str) -> str:
    """Return the context that a name stands for, without white space around it; `Global` is `global`."""
    stripped = name.strip()
    return DEFAULT_CONTEXT if stripped.casefold() == DEFAULT_CONTEXT else stripped


def _checked(name: object) -> str:
    if name is None or name == "":
        return DEFAULT_CONTEXT
    if not isinstance(name, str) or not is_label(name):
        logger.warning("%s in the session state can name no context: none is active", ACTIVE_CONTEXT_KEY)
        return DEFAULT_CONTEXT
    return context_of(name)
