"""The system under test as seen by the acceptance checks: from outside, on real parts, with scripted models.

The agent's model is a `ScriptedLlm`; extractor, profiler and embedder are providers of mem0. Everything else is the
real thing: ADK's Runner, SQLite and Chroma in a folder.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.models import Scope, SweepReport
from gaia_memory.testing import FakeClock, ScriptedAnswer, ScriptedLlm
from support.databases import place_empty_database
from support.storage import scripted_mem0
from support.storage.plain_mem0 import mem0_facts
from support.storage.scripted_mem0 import Mem0Script

if TYPE_CHECKING:
    from google.adk.agents.base_agent import BaseAgent
    from google.adk.sessions.session import Session

    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.ports import ProjectsProvider

INSTRUCTION = "Help the person you talk to."
_ALL = 100_000


def facts(*texts: str) -> str:
    """Return an extractor's answer with these facts."""
    return json.dumps({"memory": [{"id": str(at), "text": text} for at, text in enumerate(texts)]})


def SYS(request: LlmRequest) -> str:
    """Return the text of the system instruction."""
    return _text_of(request.config.system_instruction)


def TXT(request: LlmRequest) -> str:
    """Return all text parts of the contents, one per line, without the notes of the turn."""
    return "\n".join(text_parts(request))


def ALL(request: LlmRequest) -> str:
    """Return everything the model was sent as text."""
    return "\n".join([SYS(request), *_all_text_parts(request)])


def text_parts(request: LlmRequest, role: str | None = None) -> list[str]:
    """Return the text parts of the contents in order, of one role or of all, without the notes of the turn."""
    return [without_notes(text) for text in _all_text_parts(request, role)]


def _all_text_parts(request: LlmRequest, role: str | None = None) -> list[str]:
    return [
        part.text
        for content in request.contents
        if role in (None, content.role)
        for part in content.parts or []
        if part.text
    ]


def tool_names(request: LlmRequest) -> set[str]:
    """Return the names of the tools the model is shown."""
    groups = [getattr(tool, "function_declarations", None) or [] for tool in request.config.tools or []]
    return {declaration.name for group in groups for declaration in group}


def tool_responses(request: LlmRequest) -> list[dict[str, Any]]:
    """Return the responses of tools, in order."""
    parts = [part for content in request.contents for part in content.parts or []]
    return [dict(part.function_response.response or {}) for part in parts if part.function_response]


def _text_of(instruction: Any) -> str:
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    if isinstance(instruction, types.Content):
        return "\n".join(part.text for part in instruction.parts or [] if part.text)
    if isinstance(instruction, list):
        return "\n".join(_text_of(each) for each in instruction)
    return getattr(instruction, "text", None) or ""


AgentMaker = Callable[[ScriptedLlm], "BaseAgent"]


def plain_agent(model: ScriptedLlm) -> LlmAgent:
    """Return an agent without tools of its own."""
    return LlmAgent(name="assistant", model=model, instruction=INSTRUCTION)


class Sut:
    """One installation: a home, its configuration and its scripts. Open one with `make`."""

    def __init__(
        self,
        home: Path,
        settings: dict[str, Any],
        *,
        main: Sequence[ScriptedAnswer],
        extractor: Sequence[scripted_mem0.Answer],
        profiler: Sequence[scripted_mem0.Answer],
        agent: AgentMaker,
        projects: ProjectsProvider | None,
    ) -> None:
        self.home = home
        self.clock = FakeClock()
        self.main = ScriptedLlm(*main, default="ok")
        self.script = Mem0Script()
        self.script.answers["extractor"].extend(extractor)
        self.script.answers["profiler"].extend(profiler)
        self.agent = agent(self.main)
        self._name = f"script-{uuid.uuid4().hex}"
        self._settings = settings
        self._projects = projects
        self._stack = AsyncExitStack()
        self._gaia: Gaia | None = None
        self._conversations: dict[tuple[str, str], Conversation] = {}
        scripted_mem0.register(self._name, self.script)

    @property
    def gaia(self) -> Gaia:
        """The open memory."""
        if self._gaia is None:
            raise RuntimeError("the system is closed: reopen() it first")
        return self._gaia

    @property
    def REQ(self) -> list[LlmRequest]:
        """The requests to the agent's model."""
        return self.main.requests

    @property
    def EXT(self) -> list[str]:
        """The requests to the extractor."""
        return self.script.prompts["extractor"]

    @property
    def PROF(self) -> list[str]:
        """The requests to the profiler."""
        return self.script.prompts["profiler"]

    @property
    def config_path(self) -> Path:
        """The configuration file."""
        return self.home / "gaia.yaml"

    def write_config(self, text: str) -> None:
        """Write the configuration, by default with the scripted providers."""
        self._settings = yaml.safe_load(text) or {}
        self._write_config_file()

    def _write_config_file(self) -> None:
        settings = dict(self._settings)
        settings["memory"] = {**scripted_mem0.configuration(self._name), **(settings.get("memory") or {})}
        settings["sessions"] = {"coalesce_seconds": 0, **(settings.get("sessions") or {})}
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config_path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    async def open(self) -> Self:
        """Open memory as a host does."""
        await asyncio.to_thread(self._write_config_file)
        file = self.home / "memory.db"
        if "database_url" not in (self._settings.get("memory") or {}) and not await asyncio.to_thread(file.exists):
            await place_empty_database(file)
        opening = open_memory(
            self.config_path, home=self.home, model=self.main, clock=self.clock, projects=self._projects
        )
        self._gaia = await self._stack.enter_async_context(opening)
        return self

    async def close(self) -> None:
        """Close memory as a host does; nothing happens if it is closed already."""
        self._gaia = None
        self._conversations.clear()
        await self._stack.aclose()

    async def reopen(self) -> Self:
        """Open memory again with the same clock and scripts."""
        await self.close()
        return await self.open()

    def conversation(self, user: str, channel: str, *, admin: bool = False) -> Conversation:
        """Return the conversation of a user on a channel."""
        key = (user, channel)
        if key not in self._conversations:
            self._conversations[key] = self.gaia.conversation(self.agent, user_id=user, channel=channel, admin=admin)
        return self._conversations[key]

    async def chat(
        self, user: str, channel: str, text: str, *, private: bool = False, admin: bool = False
    ) -> list[str]:
        """Send one message and return the replies: one, or none if a later message of the burst is answered instead."""
        reply = await self.conversation(user, channel, admin=admin).send(text, private=private)
        return [] if reply.merged else [reply.text]

    async def sweep_after_idle(self, user: str = "", channel: str = "") -> SweepReport:
        """Let the idle period pass for all conversations and sweep once."""
        minutes = self.gaia.config.sessions.idle_consolidate_minutes
        self.clock.advance(timedelta(minutes=minutes, seconds=1))
        return await self.gaia.sweep()

    async def sweep(self, *, force: bool = False) -> SweepReport:
        """Sweep once without letting time pass."""
        return await self.gaia.sweep(force=force)

    def scope(self, user: str) -> Scope:
        """Return the scope of a user."""
        return self.gaia.scope(user_id=user)

    async def fact_rows(self, user: str) -> list[dict[str, Any]]:
        """Return all facts of a user, after checking that plain mem0 has exactly these."""
        memory = self.gaia.memory
        if not self.gaia.config.memory.enabled:
            async with memory.stores.database.read_transaction() as tx:
                kept = await memory.stores.facts.facts(tx, self.scope(user))
            return [{"id": fact.id, "text": fact.text} for fact in kept]
        await memory.settled()
        listed = [
            {"id": fact.id, "text": fact.text, "source": fact.source, "session_id": fact.session_id, "seq": fact.seq}
            for fact in await memory.facts(self.scope(user))
        ]
        plain = await mem0_facts(self.gaia, user)
        if {row["id"]: row["text"] for row in listed} != plain:
            raise AssertionError(f"mem0 holds {plain}, the database {listed}")
        return listed

    async def texts(self, user: str) -> list[str]:
        """Return the texts of a user's facts, oldest first."""
        return [row["text"] for row in await self.fact_rows(user)]

    async def session(self, user: str, channel: str) -> Session | None:
        """Read a session through a second session service on the same database file."""
        second = DatabaseSessionService(self.gaia.config.sessions_url)
        try:
            return await second.get_session(app_name=self.gaia.config.app, user_id=user, session_id=f"{user}:{channel}")
        finally:
            await second.close()


async def make(
    home: Path,
    yaml_text: str = "",
    main: Sequence[ScriptedAnswer] = (),
    extractor: Sequence[scripted_mem0.Answer] = (),
    profiler: Sequence[scripted_mem0.Answer] = (),
    *,
    agent: AgentMaker = plain_agent,
    projects: ProjectsProvider | None = None,
) -> Sut:
    """Return an open system in `home`; close it, or use the fixture `make`, which does so."""
    settings = yaml.safe_load(yaml_text) or {}
    sut = Sut(home, settings, main=main, extractor=extractor, profiler=profiler, agent=agent, projects=projects)
    return await sut.open()
