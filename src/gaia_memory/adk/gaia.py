"""The result of `open_memory`: memory and its ADK half for one configuration.

ADK is imported at its first use: a program that only remembers and recalls never loads it.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from gaia_memory.adk.lazy_imports import load_adk
from gaia_memory.adk.models.model_factory import build_model, close_model
from gaia_memory.adk.sessions.database_transcript import DatabaseTranscript, find_transcript
from gaia_memory.adk.sessions.session_database import SessionDatabase
from gaia_memory.commands.command import Reply
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sections.people_section import identify_speaker
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.engine_registry import EngineSource
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.log import logger_for
from gaia_memory.models import Scope, SessionKey, SweepReport
from gaia_memory.models.validation import raise_invalid, require_id
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.agents.base_agent import BaseAgent
    from google.adk.apps.app import App
    from google.adk.models.base_llm import BaseLlm
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from google.adk.tools.base_tool import BaseTool

    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.memory_service import Mem0MemoryService
    from gaia_memory.adk.runner import GaiaRunner
    from gaia_memory.engine import Engine
    from gaia_memory.learning.sweep import Progress
    from gaia_memory.mem0_api.async_calls import AsyncMem0
    from gaia_memory.mem0_api.blocking_calls import Mem0
    from gaia_memory.memory import Memory
    from gaia_memory.reminders.announcer import Announce

logger = logger_for(__name__)

_USER_ID_FIX = "pass the id of the user"
_CHANNEL_FIX = "pass the name of the channel"


@translate_os_errors
class Gaia:
    """The parts of memory, wired for ADK, with shortcuts for common use."""

    def __init__(self, engine: Engine, model: BaseLlm | None) -> None:
        """Wrap an open engine; `model` overrides the configured one."""
        self._engine = engine
        self._given_model = model
        self._own_model: BaseLlm | None = None
        self._runners: dict[int, GaiaRunner] = {}
        self._announcing: asyncio.Task[None] | None = None
        self._mem0: Mem0 | None = None
        self._sessions = SessionDatabase(engine)
        app = engine.config.app
        engine.attach_transcript(app, DatabaseTranscript(self._sessions, app, clear_method="delete"))
        engine.set_transcript_fallback(partial(find_transcript, self._sessions))

    async def require_sessions(self) -> None:
        """Check that sessions can be stored, without creating their tables; memory that can only be read needs none.

        Raises:
            MemoryUnavailable: the session database cannot be opened, or is not a database.
        """
        if not self._engine.is_read_only:
            await self._sessions.require_usable()

    @property
    def engine(self) -> Engine:
        """The engine behind all parts, for servers over this memory."""
        return self._engine

    @property
    def config(self) -> GaiaConfig:
        """The configuration in force."""
        return self._engine.config

    @property
    def memory(self) -> Memory:
        """The memory of all users."""
        return self._engine.memory

    @property
    def session_service(self) -> DatabaseSessionService:
        """ADK's session service over `sessions.database_url`; it creates its tables at its first use."""
        return self._sessions.service

    @cached_property
    def memory_service(self) -> Mem0MemoryService:
        """The memory service for a Runner of your own."""
        from gaia_memory.adk.memory_service import Mem0MemoryService

        return Mem0MemoryService(config=self._engine.loaded)

    @property
    def model(self) -> BaseLlm:
        """The model for `LlmAgent(model=…)`: the argument of `open_memory`, the configured model, or the offline one.

        Raises:
            ConfigError: ADK has no model with the configured name.
        """
        if self._given_model is not None:
            return self._given_model
        if self._own_model is None:
            self._own_model = build_model(self.config.model, self.config.memory.zone)
        return self._own_model

    @property
    def plugins(self) -> list[BasePlugin]:
        """New plugins for an App: the replay window and memory."""
        from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
        from gaia_memory.adk.plugins.window_plugin import SessionWindowPlugin

        window = SessionWindowPlugin(config=self._engine.loaded)
        return [window, MemoryPlugin(config=self._engine.loaded)]

    @property
    def tools(self) -> list[BaseTool]:
        """The tools of `memory.tools`, for agents that list them explicitly; see also `MemoryToolset`."""
        from gaia_memory.adk.tools.memory_tools import memory_tools

        return memory_tools(EngineSource(self._engine.loaded), self.config.memory.tools)

    @property
    def mem0(self) -> Mem0:
        """The calls of mem0's `Memory` over the facts; they block, from any thread."""
        if self._mem0 is None:
            from gaia_memory.mem0_api.blocking_calls import Mem0

            self._mem0 = Mem0(self._engine.loaded)
        return self._mem0

    @cached_property
    def amem0(self) -> AsyncMem0:
        """The calls of mem0's `AsyncMemory` over the facts."""
        from gaia_memory.mem0_api.async_calls import AsyncMem0

        return AsyncMem0(self._engine)

    def mem0_config(self) -> dict[str, Any]:
        """Return what `mem0.Memory.from_config` needs to open the store of these facts, once they have `settled`.

        Read a store in a folder, no more: plain mem0 would make a missing one in its place.

        `import gaia_memory.mem0_providers` first where the embedder is `offline`. Keys come from the environment.

        Raises:
            ConfigError: `memory.vector_store` is `none`, or the length of the vectors is not known yet.
        """
        return self._engine.mem0_config()

    def app(self, root_agent: BaseAgent) -> App:
        """Return an ADK App with the plugins.

        Raises:
            InvalidInputError: `root_agent` is neither an agent nor a workflow.
        """
        from google.adk.apps.app import App
        from google.adk.workflow import BaseNode

        if not isinstance(root_agent, BaseNode):
            raise_invalid("root_agent", root_agent, "pass an agent, such as LlmAgent(name=…, model=gaia.model)")
        return App(name=self.config.app, root_agent=root_agent, plugins=self.plugins)

    def runner(self, root_agent: BaseAgent) -> GaiaRunner:
        """Return the Runner for an agent: `app(root_agent)` with the session and memory services."""
        from gaia_memory.adk.models.agent_model import find_agent_model
        from gaia_memory.adk.runner import GaiaRunner

        runner = self._runners.get(id(root_agent))
        if runner is None:
            runner = self._runners[id(root_agent)] = GaiaRunner(
                app=self.app(root_agent),
                session_service=self.session_service,
                memory_service=self.memory_service,
                engine=self._engine,
            )
            if (model := find_agent_model(root_agent)) is not None:
                self._engine.agent_models.adopt(self.config.app, model)
        return runner

    def conversation(self, root_agent: BaseAgent, *, user_id: str, channel: str, admin: bool = False) -> Conversation:
        """Return the conversation of a user on a channel; its session id is `user:channel`.

        An `admin` may switch memory off and on for all users, and so may the admins in `people.users`.

        Raises:
            InvalidInputError: `root_agent` is no agent, or an id is empty, not a text, whole number or UUID, or
                contains NUL or a lone surrogate.
        """
        from gaia_memory.adk.conversation import Conversation

        user = _session_id_part("user_id", user_id, fix=_USER_ID_FIX)
        key = SessionKey(self.config.app, user, f"{user}:{_session_id_part('channel', channel, fix=_CHANNEL_FIX)}")
        return Conversation(self.runner(root_agent), self._engine, key, admin=admin)

    async def inbound(self, channel: str, sender_id: str | int, text: str, *, agent: BaseAgent) -> list[Reply]:
        """Return the replies to a message from a channel: one or none.

        `people:` in the configuration maps the sender to a user, whose conversation on the channel gets the message.
        An unknown sender gets no reply and leaves no trace: the model is not called and nothing is stored. Without
        `people:`, all senders are unknown. `people.unknown: allow` accepts them, each as a user of their own with the
        id `channel:sender` (both percent-encoded). A message that is answered together with a later one of the same
        burst has no reply either.

        Raises:
            InvalidInputError: channel or sender is missing, or contains NUL or a lone surrogate.
        """
        channel = _session_id_part("channel", channel, fix=_CHANNEL_FIX)
        sender_id = _session_id_part("sender_id", sender_id, fix="pass the id that the channel uses")
        await self._engine.reload_config()
        speaker = identify_speaker(self.config.people, channel, sender_id)
        if speaker is None:
            logger.info("a message on %r was refused: add its sender to `people.users` to accept it", channel)
            return []
        await load_adk()
        conversation = self.conversation(agent, user_id=speaker.user_id, channel=channel, admin=speaker.admin)
        reply = await conversation.send(text)
        return [reply] if reply.text else []

    def scope(self, user_id: str) -> Scope:
        """Return the scope of a user in the configured app.

        Raises:
            InvalidInputError: the id is empty, or neither a text nor a whole number.
        """
        return self._engine.scope(self.config.app, require_id("user_id", user_id, _USER_ID_FIX))

    def describe(self) -> str:
        """Return one line that names the agent's model and the memory in use."""
        memory = self._engine.describe_model() if self.config.memory.enabled else "off"
        return f"agent: {self.model.model} · memory: {memory}"

    async def sweep(self, *, force: bool = False, progress: Progress | None = None) -> SweepReport:
        """Learn from every quiet conversation.

        `force` ignores idleness, back-off and parking, but never an active turn.
        """
        self._engine.require_open()
        return await self._engine.sweep(force=force, progress=progress)

    def on_due(self, callback: Announce) -> None:
        """Call `callback`, a function or coroutine function, with each `Announcement` of a fact that becomes due.

        It is called in the running event loop until memory is closed, for every user of the app, and for a fact that is
        due on a day at nine. Of all processes that announce, one announces a time. If `callback` raises, takes longer
        than 24 seconds, or the process dies meanwhile, the time is announced again, with the same `id`. A second
        callback takes the place of the first.
        """
        self._engine.require_open()
        if self._announcing is not None:
            self._announcing.cancel()
        announcer = self.memory.announcer(callback)
        self._announcing = asyncio.get_running_loop().create_task(announcer.run(), context=Context())

    async def close(self) -> None:
        """Close the Runners and plugins created here, and the client of the model created here."""
        if self._announcing is not None:
            self._announcing.cancel()
            await asyncio.gather(self._announcing, return_exceptions=True)
        if self._mem0 is not None:
            await run_in_thread(self._mem0.close)
        for runner in self._runners.values():
            await runner.close()
        self._runners.clear()
        if self._own_model is not None:
            await close_model(self._own_model)


def _session_id_part(name: str, value: object, *, fix: str) -> str:
    """Return an id as text that ADK's session database can store."""
    part = require_id(name, value, fix)
    if replace_unstorable(part) != part:
        raise_invalid(name, value, "pass an id without NUL and lone surrogates, which session databases cannot store")
    return part
