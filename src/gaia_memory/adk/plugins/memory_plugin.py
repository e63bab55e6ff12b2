"""MemoryPlugin: memory for every agent of a Runner, without changing one of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import ref

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from gaia_memory.adk.engine_source import ConfigSource, EngineSource
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.current_message import say_here
from gaia_memory.adk.plugins.error_boundary import Contained, never_breaks_the_turn
from gaia_memory.adk.plugins.evaluation_runs import is_left_alone
from gaia_memory.adk.plugins.event_metadata import answers_in_private, is_private, stamp
from gaia_memory.adk.plugins.frozen_profile import session_block, still_frozen
from gaia_memory.adk.plugins.invocation_clock import Begun
from gaia_memory.adk.plugins.invocation_state import Run
from gaia_memory.adk.plugins.request_injection import AgentNames, is_offered, is_told_inside, offer
from gaia_memory.adk.plugins.slash_commands import answer_command, command_in, without_commands, worded
from gaia_memory.adk.plugins.span_content import content_wanted
from gaia_memory.adk.sessions.configured_sessions import ConfiguredSessions
from gaia_memory.adk.sessions.event_mapping import COMMAND_STAMP, PRIVATE_STAMP, UNMARKED_STAMP
from gaia_memory.adk.sessions.session_database import SessionDatabase
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.adk.tools import memory_tools
from gaia_memory.commands.private import said_privately
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import logger_for
from gaia_memory.models import SessionKey
from gaia_memory.telemetry import capture_content, want_content

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from gaia_memory.engine import Engine
    from gaia_memory.models import Invocation

logger = logger_for(__name__)

_TURNS = 4096
"""Turns remembered at once: a cancelled turn fires no hook at its end, so the oldest leave by themselves."""

_outer_sessions: ContextVar[BaseSessionService | None] = ContextVar("outer_sessions", default=None)
"""The session service of the run that is calling a tool: a run inside that tool has another."""

_outer_turn: ContextVar[Run | None] = ContextVar("outer_turn", default=None)
"""The run that is calling a tool: an agent inside that tool talks to the same person."""


class MemoryPlugin(BasePlugin):
    """Gives a Runner's agents a memory of each person.

    It marks turns in the ledger, so that quiet conversations are learned; offers `remember` and `load_memory`;
    puts the profile into the prompt; and answers slash commands without the model. Runs inside an AgentTool
    are left alone, but for the profile where their agent is to have it; a second MemoryPlugin in one Runner does
    nothing, and no failure of memory ends a turn (unless `memory.on_unavailable` is `fail`).
    """

    def __init__(self, name: str = "gaia_memory", *, config: ConfigSource | None = None) -> None:
        """Take the name ADK knows it by and a configuration; opens nothing until its first hook."""
        super().__init__(name=name)
        self._source = EngineSource(config)
        self._tools = memory_tools(self._source)
        self._turns: OrderedDict[str, Run] = OrderedDict()
        self._uncounted: OrderedDict[SessionKey, Invocation] = OrderedDict()
        self._raises_errors = False
        self._said_inert = False
        self._names = AgentNames()

    @property
    def raises_errors(self) -> bool:
        """True where `memory.on_unavailable` is `fail`; known once the configuration was read."""
        return self._raises_errors

    @never_breaks_the_turn
    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Recognise a slash command, or mark the beginning of a turn; what `/private` says is said without it."""
        if not self._is_ours(invocation_context):
            return None
        turn = self._begin(invocation_context, user_message)
        await self._mark_turn(invocation_context, turn)
        return None if turn.words is None else worded(user_message, turn.words)

    @never_breaks_the_turn
    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Answer a slash command; else take earlier ones out of the replay and get the session's profile."""
        if not self._is_ours(invocation_context):
            return None
        turn = self._turns.get(invocation_context.invocation_id)
        if turn is None or turn.context() is not invocation_context:
            # Another plugin kept the message from us, or the run resumes without one.
            event = _new_event(invocation_context)
            turn = self._begin(invocation_context, event.content if event is not None else None)
            with Contained("marking a turn"):
                await self._mark_turn(invocation_context, turn)
                await self._keep_out(invocation_context, turn)
        turn.arrived()
        if turn.command is not None:
            with capture_content(content_wanted(invocation_context.run_config)):
                async with self._at_work(turn) as engine:
                    answer = await answer_command(
                        engine, turn.key, *turn.command, trouble=turn.trouble, talker=turn.talker
                    )
            turn.clears = answer.clears
            return types.Content(role="model", parts=[types.Part(text=answer.text)])
        session = invocation_context.session
        session.events[:] = without_commands(session.events)
        async with self._at_work(turn) as engine:
            if engine is not None:
                self._names.check(engine.config, invocation_context.agent)
            if engine is not None and turn.row is not None:
                turn.block = await session_block(engine, turn.key, turn.row)
        return None

    @never_breaks_the_turn
    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Offer the tools and put the profile at the end of the system instruction."""
        invocation = callback_context.get_invocation_context()
        if not self._is_ours(invocation):
            await self._tell_inside(invocation, llm_request)
            return None
        turn = self._turns.get(invocation.invocation_id)
        if turn is not None:
            turn.sign(of_agent=True)
        block = await self._block(invocation, turn) if turn is not None else None
        offer(llm_request, self._tools, block=block)
        return None

    @never_breaks_the_turn
    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Note whose run calls a tool, so that a run inside that tool is told from it; each call is its own task."""
        invocation = tool_context.get_invocation_context()
        if self._is_ours(invocation):
            _outer_sessions.set(invocation.session_service)
            turn = self._turns.get(invocation.invocation_id)
            _outer_turn.set(turn)
            say_here(tool_context)
            if turn is not None:
                turn.call_tool()
            want_content(content_wanted(invocation.run_config))
        return None

    @never_breaks_the_turn
    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Note that the turn goes on; let the answer of a command be said by the agent it was said to."""
        turn = self._turns.get(invocation_context.invocation_id)
        if turn is None or not self._is_ours(invocation_context):
            return None
        if turn.command is not None and isinstance(invocation_context.agent, BaseAgent):
            # ADK's own name for it is no agent's: it would warn of that at each later turn.
            event.author = invocation_context.agent.name
        turn.sign()
        return None

    @never_breaks_the_turn
    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Mark the end of the turn; after /reset, clear the session, which ADK needed until now."""
        if self._is_ours(invocation_context):
            await self._end(invocation_context)

    @never_breaks_the_turn
    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Mark the end of a turn that failed."""
        if self._is_ours(invocation_context):
            await self._end(invocation_context)

    @never_breaks_the_turn
    async def close(self) -> None:
        """Give the engine back; nothing is learned and nothing lost, and turns that still run end as they should."""
        await self._source.release()

    def _is_ours(self, invocation: InvocationContext) -> bool:
        """Say whether this is a run of the host itself, and this plugin the one in charge."""
        outer = _outer_sessions.get()
        if (outer is not None and outer is not invocation.session_service) or is_left_alone(invocation, self._source):
            return False
        first = next((plugin for plugin in invocation.plugin_manager.plugins if isinstance(plugin, MemoryPlugin)), self)
        if first is not self and not self._said_inert:
            self._said_inert = True
            logger.warning("the plugin %r does nothing: %r is in this Runner already", self.name, first.name)
        return first is self

    def _begin(self, invocation: InvocationContext, message: types.Content | None) -> Run:
        """Note an invocation; commands and what is private are stamped before anything can fail."""
        session = invocation.session
        command = command_in(message)
        words = said_privately(*command) if command is not None else None
        turn = Run(
            key=SessionKey(session.app_name, session.user_id, session.id),
            begun=Begun.now(invocation.invocation_id, _new_event(invocation)),
            command=command if words is None else None,
            words=words,
            root=_root(invocation),
            context=ref(invocation),
        )
        if turn.command is not None:
            stamp(invocation, COMMAND_STAMP, turn.command[0])
        elif words is not None or answers_in_private(session.events, message):
            stamp(invocation, PRIVATE_STAMP, True)
        self._turns[invocation.invocation_id] = turn
        if len(self._turns) > _TURNS:
            self._turns.popitem(last=False)
        return turn

    @never_breaks_the_turn
    async def _mark_turn(self, invocation: InvocationContext, turn: Run) -> None:
        """Open memory and mark the beginning of a turn, or of a command; a turn that is not marked is stamped."""
        if turn.command is None:
            stamp(invocation, UNMARKED_STAMP, True)
        try:
            await self._open(invocation)
        except GaiaMemoryError as error:
            turn.trouble = error
            raise
        turn.has_memory = True
        async with self._at_work(turn) as engine:
            if engine is not None:
                await turn.begin(engine, invocation)

    async def _keep_out(self, invocation: InvocationContext, turn: Run) -> None:
        """Keep a private message from being learned that ADK appended before it was stamped."""
        event = _new_event(invocation)
        if event is None or not is_private(invocation):
            return
        async with self._at_work(turn) as engine:
            if engine is not None:
                await engine.marks.keep_out(turn.key, [event.id])

    async def _open(self, invocation: InvocationContext) -> None:
        if isinstance(invocation.memory_service, Mem0MemoryService):
            await self._source.follow(invocation.memory_service.source)
        loaded = await self._source.loaded()
        self._raises_errors = loaded.config.memory.on_unavailable == "fail"
        engine = await self._source.hold()
        self._raises_errors = engine.config.memory.on_unavailable == "fail"
        app = invocation.session.app_name
        engine.attach_transcript(app, SessionTranscript(invocation.session_service, app, clears_by="rewind"))
        while self._uncounted:
            engine.marks.owe(*self._uncounted.popitem(last=False))
        if not engine.transcripts.looks_further:
            engine.transcripts.look_further(ConfiguredSessions(SessionDatabase(engine)).find)

    @asynccontextmanager
    async def _at_work(self, turn: Run) -> AsyncIterator[Engine | None]:
        """Give the engine for a hook, None where it was not opened; the plugin may be closed while a turn runs."""
        if not turn.has_memory:
            yield None
            return
        async with self._source.using(look=False) as engine:
            yield engine

    async def _block(self, invocation: InvocationContext, turn: Run) -> str | None:
        """Return the profile block for the agent that asks its model next; None where it gets nothing of memory."""
        async with self._at_work(turn) as engine:
            if engine is None or not is_offered(engine.config, invocation.agent, turn.root):
                return None
            with Contained("looking whether the profile was forgotten meanwhile"):
                turn.block = await still_frozen(engine, turn.key, turn.block)
        return turn.block

    async def _tell_inside(self, invocation: InvocationContext, request: LlmRequest) -> None:
        """Put the profile into the prompt of an agent inside an AgentTool, where the configuration wants it there.

        It gets no tools: what it is told comes from the agent that calls it, and not from the person.
        """
        turn = _outer_turn.get()
        if turn is None or self._turns.get(turn.begun.invocation.id) is not turn:
            return
        async with self._at_work(turn) as engine:
            if engine is None or not is_told_inside(engine.config, invocation.agent):
                return
            turn.block = await still_frozen(engine, turn.key, turn.block)
        if turn.block:
            request.append_instructions([turn.block])

    async def _end(self, invocation: InvocationContext) -> None:
        turn = self._turns.pop(invocation.invocation_id, None)
        if turn is None:
            return
        async with self._at_work(turn) as engine:
            if engine is not None:
                await turn.end(engine)
            elif turn.command is None:
                # Memory could not be opened, which is logged; what is not counted is never looked for.
                self._uncounted[turn.key] = turn.begun.invocation
                if len(self._uncounted) > _TURNS:
                    self._uncounted.popitem(last=False)


def _new_event(invocation: InvocationContext) -> Event | None:
    """Return the event of what the person just said; None where an earlier turn is resumed."""
    last = invocation.session.events[-1] if invocation.session.events else None
    is_new = last is not None and last.author == "user" and last.invocation_id == invocation.invocation_id
    return last if is_new else None


def _root(invocation: InvocationContext) -> str | None:
    """Return the root agent's name where it is an LlmAgent; None for a tree or a Workflow of several."""
    agent = invocation.agent
    root = agent.root_agent if isinstance(agent, BaseAgent) else None
    return root.name if isinstance(root, LlmAgent) else None
