"""One agent in two kinds of host, over real parts, and the extractor's input from its conversation."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from gaia_memory.engine import Engine
from gaia_memory.models import Scope, SessionKey
from gaia_memory.testing import ScriptedAnswer, ScriptedLlm
from support.harness import AgentMaker, Sut, facts, plain_agent
from support.storage import scripted_mem0
from support.storage.scripted_mem0 import Mem0Script

APP, USER = "gaia", "itay"
RoleTexts = list[tuple[str, str]]


class ExtractionHost(Protocol):
    """A host in which one user chats with an agent."""

    main: ScriptedLlm
    script: Mem0Script
    runner: Runner
    key: SessionKey

    async def send(self, text: str, *, private: bool = False) -> str:
        """Send a message in the way of this host and return the answer."""
        ...

    async def engine(self) -> Engine:
        """Return the engine in use."""
        ...

    async def reopen(self) -> None:
        """Close everything and open it again, like a new process."""
        ...


class ConversationHost:
    """A Conversation of `open_memory`."""

    def __init__(self, sut: Sut) -> None:
        self._sut = sut
        self.main, self.script = sut.main, sut.script
        self.key = sut.conversation(USER, "cli").key

    @property
    def runner(self) -> Runner:
        return self._sut.conversation(USER, "cli")._runner

    async def send(self, text: str, *, private: bool = False) -> str:
        return "".join(await self._sut.chat(USER, "cli", text, private=private))

    async def engine(self) -> Engine:
        return self._sut.gaia._engine

    async def reopen(self) -> None:
        await self._sut.reopen()


class RunnerHost:
    """A third-party Runner with its own session database and our parts added."""

    key = SessionKey(APP, USER, "s1")

    def __init__(
        self,
        folder: Path,
        main: Sequence[ScriptedAnswer],
        agent: AgentMaker,
        before: Sequence[BasePlugin],
        settings: dict[str, Any],
    ) -> None:
        self.main = ScriptedLlm(*main, default="ok")
        self.script = Mem0Script()
        self._agent, self._folder, self._before = agent(self.main), folder, before
        name = f"script-{uuid.uuid4().hex}"
        scripted_mem0.register(name, self.script)
        memory = {**scripted_mem0.configuration(name), **settings.get("memory", {})}
        self._config = {"home": str(folder / "home"), **settings, "memory": memory}
        self.runner = self._new_runner()

    def _new_runner(self) -> Runner:
        self.sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{self._folder / 'host.db'}")
        self.service = Mem0MemoryService(config=self._config)
        return Runner(
            app=App(name=APP, root_agent=self._agent, plugins=[*self._before, MemoryPlugin()]),
            session_service=self.sessions,
            memory_service=self.service,
            auto_create_session=True,
        )

    async def send(self, text: str, *, private: bool = False) -> str:
        config = RunConfig(custom_metadata={PRIVATE_KEY: True}) if private else None
        return events_text(await run_turn(self, text, run_config=config))

    async def engine(self) -> Engine:
        return await self.service.source.engine()

    async def reopen(self) -> None:
        await self.close()
        self.runner = self._new_runner()

    async def close(self) -> None:
        await self.runner.close()
        await self.sessions.close()


@asynccontextmanager
async def open_host(
    kind: str,
    folder: Path,
    make: Callable[..., Awaitable[Sut]],
    *,
    main: Sequence[ScriptedAnswer] = (),
    agent: AgentMaker = plain_agent,
    before: Sequence[BasePlugin] = (),
    settings: dict[str, Any] | None = None,
) -> AsyncIterator[ExtractionHost]:
    """Open a host; `before` are third-party plugins ahead of ours, in a third-party Runner."""
    if kind == "ours":
        yield ConversationHost(await make(json.dumps(settings or {}), main=main, agent=agent))
        return
    folder.mkdir(parents=True, exist_ok=True)
    host = RunnerHost(folder, main, agent, before, settings or {})
    try:
        yield host
    finally:
        await host.close()


async def run_turn(host: ExtractionHost, message: str | types.Content, **arguments: Any) -> list[Event]:
    """Run a turn through the host's unmodified Runner, and return its events."""
    content = types.UserContent(message) if isinstance(message, str) else message
    key = host.key
    turn = host.runner.run_async(user_id=key.user, session_id=key.session, new_message=content, **arguments)
    return [event async for event in turn]


async def answer_call(
    host: ExtractionHost, events: Sequence[Event], response: dict[str, Any], **arguments: Any
) -> list[Event]:
    """Answer the last call in events with a function response, like a host."""
    asked = [call for event in events for call in event.get_function_calls()][-1]
    part = types.Part(function_response=types.FunctionResponse(id=asked.id, name=asked.name, response=response))
    return await run_turn(host, types.Content(role="user", parts=[part]), **arguments)


def events_text(events: Sequence[Event]) -> str:
    """Return the texts of events."""
    parts = [part for event in events if event.content for part in event.content.parts or []]
    return "".join(part.text or "" for part in parts)


async def learn_and_read_messages(host: ExtractionHost, *learned_facts: str) -> RoleTexts:
    """Learn everything now and return the messages that the extractor received, chunk by chunk."""
    prompts = host.script.prompts["extractor"]
    before = len(prompts)
    host.script.answers["extractor"].extend([facts(*learned_facts)] * 20)
    await (await host.engine()).sweep(force=True)
    host.script.answers["extractor"].clear()
    return [said for prompt in prompts[before:] for said in new_messages_in(prompt)]


def new_messages_in(prompt: str) -> RoleTexts:
    """Return the new messages of a prompt."""
    section = prompt.rpartition("## New Messages\n")[2].partition("\n\n## Observation Date")[0]
    return [(entry["role"], entry["content"]) for entry in json.loads(section)]


async def fact_texts(host: ExtractionHost) -> list[str]:
    """Return the texts of the user's facts."""
    return [fact.text for fact in await (await host.engine()).memory.facts(Scope(APP, USER))]
