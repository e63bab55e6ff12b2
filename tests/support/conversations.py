"""Conversations on real parts, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.sessions.session import Session

from gaia_memory import open_memory
from gaia_memory.adk.conversation import Conversation
from gaia_memory.adk.gaia import Gaia
from gaia_memory.engine import Engine
from support.plugin_host import build_agent

USER = "itay"


class Conversations:
    """One open memory and one agent, for conversations of any user."""

    def __init__(self, gaia: Gaia, agent: BaseAgent) -> None:
        """Hold a conversation with `agent`."""
        self.gaia = gaia
        self.agent = agent

    @property
    def engine(self) -> Engine:
        """The engine of the memory."""
        return self.gaia._engine

    def get(self, user: str = USER, channel: str = "cli") -> Conversation:
        """Return a user's conversation on a channel: a new object at each call, as in a host."""
        return self.gaia.conversation(self.agent, user_id=user, channel=channel)

    async def send(self, text: str, user: str = USER, channel: str = "cli", **arguments: Any) -> str:
        """Return the text of the reply."""
        return (await self.get(user, channel).send(text, **arguments)).text

    async def load_session(self, user: str = USER, channel: str = "cli") -> Session | None:
        """Return the stored session."""
        return await self.gaia.session_service.get_session(
            app_name="gaia", user_id=user, session_id=f"{user}:{channel}"
        )

    async def fact_texts(self, user: str = USER) -> list[str]:
        """Return the texts of a user's facts."""
        return [fact.text for fact in await self.gaia.memory.facts(self.gaia.scope(user_id=user))]


@asynccontextmanager
async def open_conversations(
    home: Path, model: Any, config: Mapping[str, Any] | None = None, *, coalesce_seconds: float = 0, **arguments: Any
) -> AsyncIterator[Conversations]:
    """Open memory with an agent over `model`, or with the given agent.

    Messages of one burst may be `coalesce_seconds` apart.
    """
    merged = {
        **(config or {}),
        "sessions": {"coalesce_seconds": coalesce_seconds, **(config or {}).get("sessions", {})},
    }
    async with open_memory(merged, home=home / "talks", **arguments) as gaia:
        yield Conversations(gaia, model if isinstance(model, BaseAgent) else build_agent(model))
