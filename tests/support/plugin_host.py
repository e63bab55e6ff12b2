"""Turns on a real ADK Runner: the model's requests read as text, and parts that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.session import Session
from google.genai import types

from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.engine import Engine
from gaia_memory.engine_registry import EngineSource
from gaia_memory.models import LedgerRow, Scope, SessionKey
from gaia_memory.ports import Embedder, Extractor, LanguageModel
from gaia_memory.profile.distil import Distiller, ProfileSettings
from gaia_memory.recall.pipeline import Recall
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.turn_presence import TurnLease

APP, USER, SESSION = "host", "itay", "s1"
KEY = SessionKey(APP, USER, SESSION)
SCOPE = Scope(APP, USER)
TOOLS = ["remember", "load_memory", "recall", "update_memory", "forget_memory", "switch_context"]
"""The tools that an agent gets by default."""

SECRET_TEXT = "the PIN word is ZEBRA"


def contents_text(request: LlmRequest) -> str:
    """Return all text of a request's contents but for the notes of the turn."""
    parts = [part for content in request.contents for part in content.parts or []]
    return "\n".join(without_notes(part.text) for part in parts if part.text)


def system_text(request: LlmRequest) -> str:
    """Return the system instruction."""
    return str(request.config.system_instruction or "")


def request_text(request: LlmRequest) -> str:
    """Return all text sent to the model."""
    return f"{system_text(request)}\n{contents_text(request)}"


def offered_tools(request: LlmRequest) -> list[str]:
    """Return the names of the tools offered to the model."""
    declared = [declaration for tool in request.config.tools or [] for declaration in tool.function_declarations or []]
    return [declaration.name or "" for declaration in declared]


def function_responses(request: LlmRequest) -> list[dict[str, Any]]:
    """Return the responses of tools, oldest first."""
    parts = [part for content in request.contents for part in content.parts or []]
    return [part.function_response.response or {} for part in parts if part.function_response]


def user_content(text: str) -> types.Content:
    """Return a user's message."""
    return types.Content(role="user", parts=[types.Part(text=text)])


class PluginHost:
    """A third-party Runner over its own session database, with a MemoryPlugin added."""

    def __init__(
        self,
        home: Path,
        agent: BaseAgent,
        *,
        config: Mapping[str, Any] | None = None,
        plugins: list[BasePlugin] | None = None,
    ) -> None:
        """Wire it like the README; `plugins` replace the MemoryPlugin."""
        self.config = {"home": str(home / "gaia"), **(config or {})}
        self.source = EngineSource(self.config)
        self.plugin = MemoryPlugin(config=self.config)
        self.sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{home / 'host.db'}")
        self.runner = Runner(
            app=App(name=APP, root_agent=agent, plugins=plugins or [self.plugin]),
            session_service=self.sessions,
            auto_create_session=True,
        )

    async def engine(self) -> Engine:
        """Return the engine the plugin uses."""
        return await self.source.acquire()

    async def ledger_row(self) -> LedgerRow | None:
        """Return the session's row in the ledger."""
        return await (await self.engine()).conversations.row(KEY)

    async def run_turn(
        self,
        text: str | types.Content,
        *,
        user: str = USER,
        session: str = SESSION,
        run_config: RunConfig | None = None,
    ) -> list[Event]:
        """Run one turn and return its events."""
        content = user_content(text) if isinstance(text, str) else text
        turn = self.runner.run_async(user_id=user, session_id=session, new_message=content, run_config=run_config)
        return [event async for event in turn]

    async def load_session(self, session: str = SESSION) -> Session | None:
        """Return the stored session."""
        return await self.sessions.get_session(app_name=APP, user_id=USER, session_id=session)

    async def close(self) -> None:
        """Close everything."""
        await self.runner.close()
        await self.source.release()
        await self.sessions.close()


@asynccontextmanager
async def open_plugin_host(home: Path, agent: BaseAgent, **arguments: Any) -> AsyncIterator[PluginHost]:
    """Open a host and close it."""
    host = PluginHost(home, agent, **arguments)
    try:
        yield host
    finally:
        await host.close()


def build_agent(model: Any, name: str = "root", **arguments: Any) -> LlmAgent:
    """Return an agent with a model."""
    return LlmAgent(name=name, model=model, **arguments)


def events_text(events: list[Event]) -> str:
    """Return all text of events."""
    parts = [part for event in events if event.content for part in event.content.parts or []]
    return "\n".join(part.text for part in parts if part.text)


def set_profile_model(engine: Engine, model: LanguageModel) -> None:
    """Write the profiles with this model."""
    distiller = Distiller(
        engine.database, engine.facts, model, None, settings=_profile_settings(engine), clock=engine.clock
    )
    engine.memory = replace(engine.memory, distiller=distiller)


def _profile_settings(engine: Engine) -> Callable[[], ProfileSettings]:
    return lambda: ProfileSettings(limit=engine.config.memory.preload_limit, tokens=engine.config.memory.profile_tokens)


def set_extractor(engine: Engine, extractor: Extractor) -> None:
    """Learn with this extractor."""
    engine.consolidator.learner._extractor = extractor


def set_embedder(engine: Engine, embedder: Embedder) -> None:
    """Embed the facts of conversations with this embedder."""
    models: Any = SimpleNamespace(embedder=embedder, language_model=engine.backend.language_model)
    engine.consolidator.learner._reconciler._model._models = models


async def begin_turn(engine: Engine, key: SessionKey) -> TurnLease:
    """Count a turn as a host does when it begins, without delaying other turns."""
    turn_lease = engine.turns.new_lease(key, is_shared=True)
    await engine.turns.begin_turn(turn_lease)
    return turn_lease


async def record_turn(engine: Engine, key: SessionKey) -> None:
    """Count a turn that begins and ends."""
    await engine.turns.release(await begin_turn(engine, key))


class BrokenDatabase:
    """An unavailable database; the error quotes the statement, as SQLAlchemy's errors do."""

    def transaction(self) -> Any:
        """Raise."""
        raise OSError(f"database is away: INSERT INTO facts VALUES ({SECRET_TEXT!r})")

    read_transaction = single_statement = transaction


def broken_ledger_client(engine: Engine) -> LedgerClient:
    """Return a ledger client whose database is unavailable, to set as `engine.turns._client`."""
    database: Any = BrokenDatabase()
    return LedgerClient(database, engine.ledger, engine.facts, engine.clock, owner=engine.owner)


def break_database(engine: Engine) -> None:
    """Make the memory database unavailable to the memory, not to the ledger."""
    database: Any = BrokenDatabase()
    memory = engine.memory
    model = engine.backend.language_model
    distiller = Distiller(database, engine.facts, model, None, settings=_profile_settings(engine), clock=engine.clock)
    recaller = Recall(database, engine.facts, engine.backend, engine.clock)
    stores = memory.stores._replace(database=database)
    engine.memory = replace(memory, stores=stores, distiller=distiller, recaller=recaller)
