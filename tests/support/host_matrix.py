"""One installation in two kinds of host: our own Conversation, and a third-party Runner with our parts added."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any, Protocol

import yaml
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from gaia_memory import Mem0MemoryService, MemoryPlugin, Scope, SessionWindowPlugin
from gaia_memory.engine import Engine
from gaia_memory.testing import ScriptedLlm
from support.harness import Sut
from support.hosts.plain_runner import APP, SESSION, USER, build_runner, run_turn
from support.storage import scripted_mem0
from support.storage.scripted_mem0 import Mem0Script


class Host(Protocol):
    """The interface of both for a test: chat as one user, edit the file, look inside."""

    main: ScriptedLlm
    script: Mem0Script
    config_path: Path

    def write_config(self, text: str) -> None:
        """Write a configuration with the scripted providers."""
        ...

    async def chat(self, text: str) -> str:
        """Send a message and return the answer."""
        ...

    async def engine(self) -> Engine:
        """Return the engine in use."""
        ...

    async def events(self) -> list[Event]:
        """Return everything in the session."""
        ...

    @property
    def scope(self) -> Scope:
        """The user's scope."""
        ...

    async def close(self) -> None:
        """Close the host."""
        ...


class ConversationHost:
    """A Conversation of `open_memory`."""

    def __init__(self, sut: Sut) -> None:
        self.sut = sut
        self.main, self.script, self.config_path = sut.main, sut.script, sut.config_path

    def write_config(self, text: str) -> None:
        self.sut.write_config(text)

    async def chat(self, text: str) -> str:
        return "".join(await self.sut.chat(USER, "cli", text))

    async def engine(self) -> Engine:
        return self.sut.gaia._engine

    async def events(self) -> list[Event]:
        session = await self.sut.session(USER, "cli")
        return session.events if session else []

    @property
    def scope(self) -> Scope:
        return self.sut.scope(USER)

    async def close(self) -> None:
        await self.sut.close()


class RunnerHost:
    """A third-party Runner: a service by its URI, and two plugins without arguments."""

    scope = Scope(APP, USER)

    def __init__(self, folder: Path, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.home, self.config_path = folder / "home", folder / "gaia.yaml"
        self.main = ScriptedLlm(default="ok")
        self.script = Mem0Script()
        self._name = f"script-{uuid.uuid4().hex}"
        scripted_mem0.register(self._name, self.script)
        self.write_config(text)
        self.service = Mem0MemoryService(uri=f"mem0://?config={self.config_path}")
        self.plugins = [SessionWindowPlugin(), MemoryPlugin()]
        self.sessions = InMemorySessionService()
        self.runner = self.build_new_runner()

    def build_new_runner(self) -> Any:
        """Return a Runner over the same parts, like a host that starts again after closing the first."""
        return build_runner(*self.plugins, model=self.main, service=self.service, sessions=self.sessions)

    def write_config(self, text: str) -> None:
        settings = yaml.safe_load(text) or {}
        settings.setdefault("home", str(self.home))
        settings["memory"] = {**scripted_mem0.configuration(self._name), **(settings.get("memory") or {})}
        self.config_path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    async def chat(self, text: str) -> str:
        return await run_turn(self.runner, text)

    async def engine(self) -> Engine:
        return await self.service.source.engine()

    async def events(self) -> list[Event]:
        found = await self.sessions.get_session(app_name=APP, user_id=USER, session_id=SESSION)
        return found.events if found else []

    async def close(self) -> None:
        await self.runner.close()


async def force_sweep(host: Host) -> None:
    """Sweep immediately, without waiting for the idle period."""
    await (await host.engine()).sweep(force=True)


async def stored_fact_texts(host: Host) -> list[str]:
    """Return the texts of the user's facts in the database, whatever is switched off."""
    memory = (await host.engine()).memory
    async with memory.stores.database.read_transaction() as tx:
        return [fact.text for fact in await memory.stores.facts.facts(tx, host.scope)]


async def wait_until(condition: Any, *, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def last_request(host: Host) -> LlmRequest:
    """Return the last request of the agent's model."""
    return host.main.requests[-1]
