"""A third-party Runner over any of ADK's session services, with memory added."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session

from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.sessions.event_mapping import live_events
from gaia_memory.engine import Engine
from gaia_memory.engine_registry import EngineSource
from gaia_memory.testing import ScriptedExtractor
from support.hosts.adk_runner import echo_model
from support.hosts.session_services import APP, session_service
from support.plugin_host import build_agent, contents_text, events_text, set_extractor, user_content

USER, SESSION = "itay", "s1"
SESSION_ARGUMENTS = {"app_name": APP, "user_id": USER, "session_id": SESSION}


class SessionServiceHost:
    """A third-party Runner over a session service, and the facts learned from its conversations."""

    def __init__(self, service: BaseSessionService, engine: Engine, runner: Runner) -> None:
        self.service = service
        self.engine = engine
        self.runner = runner
        self.model = runner.agent.model  # type: ignore[union-attr]
        self.extractor = ScriptedExtractor(default=[])
        set_extractor(engine, self.extractor)

    async def send(self, text: str, *, session: str = SESSION) -> str:
        turn = self.runner.run_async(user_id=USER, session_id=session, new_message=user_content(text))
        return events_text([event async for event in turn])

    async def send_in_loaded_session(self, loaded: Session, text: str, patch: pytest.MonkeyPatch) -> str:
        """Send a message to a session that was loaded some time before."""
        get_session = self.service.get_session

        async def get_once(**_: Any) -> Session:
            patch.setattr(self.service, "get_session", get_session)
            return loaded

        patch.setattr(self.service, "get_session", get_once)
        return await self.send(text)

    async def load_session(self) -> Session | None:
        return await self.service.get_session(**SESSION_ARGUMENTS)

    async def texts(self, *, live: bool) -> list[str] | None:
        """Return the events of the session, all or only those in force; None if it does not exist."""
        session = await self.load_session()
        if session is None:
            return None
        events = live_events(session.events) if live else session.events
        return [part.text for event in events if event.content for part in event.content.parts or [] if part.text]

    @property
    def learned_texts(self) -> list[str]:
        return [said.text for chunk in self.extractor.chunks for said in chunk.messages if said.role == "user"]

    @property
    def last_prompt_lines(self) -> list[str]:
        """The last request to the model."""
        return contents_text(self.model.requests[-1]).split("\n")


@asynccontextmanager
async def open_session_service_host(
    kind: str, folder: Path, *, memory: dict[str, Any] | None = None, **sessions: Any
) -> AsyncIterator[SessionServiceHost]:
    """Open a host over a session service of a kind; existing sessions are kept."""
    config = {"home": str(folder / "gaia"), "sessions": sessions, "memory": memory or {}}
    source = EngineSource(config)
    async with session_service(kind, folder) as service:
        app = App(name=APP, root_agent=build_agent(echo_model()), plugins=[MemoryPlugin(config=config)])
        runner = Runner(app=app, session_service=service, auto_create_session=True)
        try:
            yield SessionServiceHost(service, await source.acquire(), runner)
        finally:
            await runner.close()
            await source.release()
