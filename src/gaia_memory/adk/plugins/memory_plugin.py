"""MemoryPlugin: memory for every agent of a Runner, without changes to the agents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from google.adk.agents.base_agent import BaseAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from gaia_memory.adk.lazy_imports import load_module
from gaia_memory.adk.memory_service import Mem0MemoryService, join_run
from gaia_memory.adk.plugins.active_context import SessionContext
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary, never_breaks_the_turn
from gaia_memory.adk.plugins.invocation_state import (
    InvocationState,
    current_run,
    enter_tool_call,
    enter_turn,
    is_private,
)
from gaia_memory.adk.plugins.request_injection import (
    RequestNotes,
    inject,
    is_enabled_for,
    profile_block_for_session,
    refresh_profile_block,
)
from gaia_memory.adk.plugins.run_events import (
    answers_private_call,
    keep_order,
    new_message_event,
    root_agent_name,
    set_metadata,
)
from gaia_memory.adk.plugins.slash_commands import (
    answer_command,
    answer_typed_text,
    drop_hidden,
    is_live,
    parse_message,
    warn_of_live_session,
    with_text,
)
from gaia_memory.adk.plugins.window_plugin import must_skip_evaluation, own_window, require_plugin_name
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, CONTEXT_KEY, PRIVATE_KEY, UNMARKED_KEY
from gaia_memory.adk.tools.fact_framing import UNAVAILABLE_RESPONSE
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.engine_registry import ConfigSource
from gaia_memory.errors import ConfigError, GaiaMemoryError
from gaia_memory.log import logger_for
from gaia_memory.models import DEFAULT_CONTEXT, SessionKey

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from gaia_memory.engine import Engine

logger = logger_for(__name__)

_MODULES_OF_OPENING = ("models.agent_model", "sessions.database_transcript", "sessions.transcript")
"""Imported when memory is opened: importing the plugin alone should be light."""

_MAX_TRACKED_TURNS = 4096
"""The most turns tracked at once: ADK calls no hook for a cancelled turn, so the oldest are dropped."""


class MemoryPlugin(BasePlugin):
    """Gives a Runner's agents a memory of each user.

    It marks turns in the ledger, so that quiet conversations are learned; offers the tools of `memory.tools`; adds
    the profile to the prompt; and answers slash commands without the model. Runs inside an AgentTool only get the
    profile, if it is enabled for their agent. A second MemoryPlugin in one Runner does nothing. No failure of memory
    ends a turn, unless `memory.on_unavailable` is `fail`.
    """

    def __init__(self, name: str = "gaia_memory", *, config: ConfigSource | None = None) -> None:
        """Take the plugin's name in ADK and a configuration; nothing is opened before the first hook.

        Raises:
            InvalidInputError: `name` looks like a configuration file.
        """
        super().__init__(name=require_plugin_name(name))
        self._service = Mem0MemoryService(config=config)
        self._source = self._service.source
        self._tools = {kind: memory_tools(self._source, kind) for kind in ("basic", "extended")}
        self._turns: OrderedDict[str, InvocationState] = OrderedDict()
        self._raises_errors = False
        self._has_warned_inert = False
        self._notes = RequestNotes()

    @property
    def raises_errors(self) -> bool:
        """True if `memory.on_unavailable` is `fail`; False until the configuration was read."""
        return self._raises_errors

    @never_breaks_the_turn
    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Parse a slash command, or mark the start of a turn; `/private` is removed from a private message."""
        if not self._is_in_charge(invocation_context):
            return None
        turn = self._begin_invocation(invocation_context, user_message)
        await self._mark_turn(invocation_context, turn)
        turn.keep_order(invocation_context)
        return None if turn.private_text is None else with_text(user_message, turn.private_text)

    @never_breaks_the_turn
    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Answer a slash command; otherwise drop earlier ones and what a reset ended, and get the session's profile."""
        if not self._is_in_charge(invocation_context):
            return None
        turn = self._turns.get(invocation_context.invocation_id)
        if turn is None or turn.context() is not invocation_context:
            # Another plugin's hook replaced the message first, or the run resumes without one.
            event = new_message_event(invocation_context)
            turn = self._begin_invocation(invocation_context, event.content if event is not None else None)
            with ErrorBoundary("marking a turn"):
                await self._mark_turn(invocation_context, turn)
                await self._exclude_private_message(invocation_context, turn)
        turn.mark_message_stored()
        if turn.command is not None:
            text = await self._answer(invocation_context, turn, turn.command, waits=turn.waits)
            return types.Content(role="model", parts=[types.Part(text=text)])
        events = invocation_context.session.events
        events[:] = drop_hidden(events, turn.reset_at, "" if invocation_context.agent else turn.invocation_id)
        async with self._engine_for(turn) as engine:
            if engine is not None:
                self._notes.check_agents(engine.config, invocation_context.agent)
                await turn.store_confirmed_facts(engine, invocation_context)
            if engine is not None and turn.ledger_row is not None:
                block = profile_block_for_session(engine, turn.key, turn.ledger_row, turn.active_context)
                turn.profile_block, turn.may_have_due = await turn.waits.run(block)
        return None

    @never_breaks_the_turn
    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Add the tools, the profile at the end of the system instruction, and the notes to the message."""
        invocation = callback_context.get_invocation_context()
        if not self._is_in_charge(invocation):
            await self._inject_into_agent_tool(invocation, llm_request)
            return None
        turn = self._turns.get(invocation.invocation_id)
        if turn is not None and is_live(invocation):
            async with self._engine_for(turn) as engine:
                answer = partial(self._answer, invocation, turn)
                return await answer_typed_text(engine, turn, invocation, llm_request, answer)
        if turn is not None:
            turn.heartbeat(of_agent=True)
        profile_block = await self._current_profile_block(invocation, turn) if turn is not None else None
        tools = self._tools["extended" if turn is None else turn.tool_kind]
        inject(llm_request, tools, profile_block=profile_block, has_private_message=is_private(invocation))
        if turn is not None and turn.confirmation_note:
            llm_request.append_instructions([turn.confirmation_note])
        if turn is not None and turn.ledger_row is not None and profile_block is not None:
            async with self._engine_for(turn) as engine:
                if engine is not None:
                    await self._notes.add(engine, turn, invocation, llm_request)
        return None

    @never_breaks_the_turn
    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Record which run calls a tool, to recognise runs inside that tool; each call is its own task."""
        invocation = tool_context.get_invocation_context()
        if self._is_in_charge(invocation):
            enter_tool_call(tool_context, self._turns.get(invocation.invocation_id))
        return None

    @never_breaks_the_turn
    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """Answer for ADK's own memory tool when the memory service has no configuration, so that the turn continues."""
        if (turn := self._turns.get(tool_context.invocation_id)) is not None:
            turn.note_tool(tool, tool_context, error)
        return None if self._raises_errors or not isinstance(error, ConfigError) else dict(UNAVAILABLE_RESPONSE)

    @never_breaks_the_turn
    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        """Note which tool was called, and what became of that."""
        if (turn := self._turns.get(tool_context.invocation_id)) is not None:
            turn.note_tool(tool, tool_context, result)

    @never_breaks_the_turn
    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Record that the turn is alive; name the author of a command's answer, and what tools changed in an answer."""
        turn = self._turns.get(invocation_context.invocation_id)
        if turn is not None and self._is_in_charge(invocation_context):
            if turn.command is not None and isinstance(invocation_context.agent, BaseAgent):
                # ADK's own author is not an agent, and ADK would warn about that at each later turn.
                event.author = invocation_context.agent.name
            turn.heartbeat()
            keep_order(event, invocation_context)
            await turn.describe_changes(partial(self._engine_for, turn), event)
        return None

    @never_breaks_the_turn
    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Mark the end of the turn; after /reset, clear the session, which ADK needs until the end of the run."""
        if self._is_in_charge(invocation_context):
            await self._end_invocation(invocation_context)

    @never_breaks_the_turn
    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Mark the end of a turn that failed."""
        if self._is_in_charge(invocation_context):
            await self._end_invocation(invocation_context)

    @never_breaks_the_turn
    async def close(self) -> None:
        """Release the engine; nothing is learned or lost, and turns that still run end normally."""
        await self._source.release()

    async def _answer(
        self,
        invocation: InvocationContext,
        turn: InvocationState,
        command: tuple[str, str],
        *,
        waits: DatabaseWaits | None = None,
    ) -> str:
        async with self._engine_for(turn) as engine:
            answer = await answer_command(
                engine,
                turn.key,
                *command,
                context=SessionContext(invocation.session_service, turn.key, state=invocation.session.state),
                open_error=turn.open_error,
                lease_owner=turn.lease_owner,
                waits=waits,
            )
        turn.clears_session = answer.clears_session
        return answer.text

    def _is_in_charge(self, invocation: InvocationContext) -> bool:
        """Return True if this is a run of the host itself, and this is the Runner's first MemoryPlugin."""
        call = current_run().call
        is_inside_tool = call is not None and call.session_service is not invocation.session_service
        if is_inside_tool or must_skip_evaluation(invocation, self._source):
            return False
        first = next((plugin for plugin in invocation.plugin_manager.plugins if isinstance(plugin, MemoryPlugin)), self)
        if first is not self and not self._has_warned_inert:
            self._has_warned_inert = True
            logger.warning("the plugin %r does nothing: %r is in this Runner already", self.name, first.name)
        return first is self

    def _begin_invocation(self, invocation: InvocationContext, message: types.Content | None) -> InvocationState:
        """Track an invocation; commands and private messages get their metadata before anything can fail."""
        session = invocation.session
        key, engine = SessionKey(session.app_name, session.user_id, session.id), self._source.acquired_engine
        command, private_text = parse_message(message, engine, key)
        if engine is not None and command is None:
            engine.pending_confirmations.close_question(key)
        turn = InvocationState(
            key=key,
            invocation_id=invocation.invocation_id,
            command=command,
            private_text=private_text,
            root_agent_name=root_agent_name(invocation),
            context=ref(invocation),
            waits=current_run().waits_of(key),
        )
        if turn.command is not None:
            set_metadata(invocation, COMMAND_KEY, turn.command[0])
        elif private_text is not None or answers_private_call(session.events, message):
            set_metadata(invocation, PRIVATE_KEY, True)
        if turn.active_context != DEFAULT_CONTEXT:
            set_metadata(invocation, CONTEXT_KEY, turn.active_context)
        enter_turn(turn)
        self._turns[invocation.invocation_id] = turn
        if len(self._turns) > _MAX_TRACKED_TURNS:
            self._turns.popitem(last=False)
        return turn

    @never_breaks_the_turn
    async def _mark_turn(self, invocation: InvocationContext, turn: InvocationState) -> None:
        """Open memory and mark the start of a turn or command; a turn that cannot be marked keeps UNMARKED_KEY."""
        if turn.command is None:
            set_metadata(invocation, UNMARKED_KEY, True)
        try:
            await self._open_memory(invocation, turn)
        except GaiaMemoryError as error:
            turn.open_error = error
            raise
        turn.is_memory_open = True
        async with self._engine_for(turn) as engine:
            if engine is not None:
                if engine.config.memory.enabled and invocation.live_request_queue is not None:
                    warn_of_live_session()
                await turn.begin(engine, invocation)

    async def _exclude_private_message(self, invocation: InvocationContext, turn: InvocationState) -> None:
        """Exclude a private message from learning if ADK appended it without its metadata."""
        event = new_message_event(invocation)
        if event is None or not is_private(invocation):
            return
        async with self._engine_for(turn) as engine:
            if engine is not None:
                await turn.waits.run(engine.conversations.skip_events(turn.key, [event.id]))

    async def _open_memory(self, invocation: InvocationContext, turn: InvocationState) -> None:
        await join_run(self._service, invocation)
        turn.settings = (await self._source.load_config()).config.memory
        self._raises_errors = turn.settings.on_unavailable == "fail"
        engine = await self._source.acquire()
        self._raises_errors = engine.config.memory.on_unavailable == "fail"
        for module in _MODULES_OF_OPENING:
            await load_module(module)
        from gaia_memory.adk.sessions.database_transcript import find_transcript
        from gaia_memory.adk.sessions.session_database import SessionDatabase
        from gaia_memory.adk.sessions.transcript import SessionTranscript

        app = invocation.session.app_name
        engine.attach_transcript(app, SessionTranscript(invocation.session_service, app, clear_method="keep"))
        engine.set_transcript_fallback(partial(find_transcript, SessionDatabase(engine)), keeps_existing=True)
        _adopt_model(engine, app, invocation)

    @asynccontextmanager
    async def _engine_for(self, turn: InvocationState) -> AsyncIterator[Engine | None]:
        """Yield the engine for a hook; None if it was not opened. The plugin may be closed while a turn runs."""
        if not turn.is_memory_open:
            yield None
            return
        async with self._source.use_engine(reload_config=False) as engine:
            yield engine

    async def _current_profile_block(self, invocation: InvocationContext, turn: InvocationState) -> str | None:
        """Return the profile block, empty while memory is away (the tools say so), or None for an agent without."""
        async with self._engine_for(turn) as engine:
            if engine is not None and engine.agent_models.get(turn.key.app) is None:
                # The agents of a Workflow are not known before they run.
                _adopt_model(engine, turn.key.app, invocation)
            settings = turn.settings if engine is None else engine.config.memory
            turn.tool_kind = settings.tools
            if not is_enabled_for(settings, invocation, turn.root_agent_name):
                return None
            if engine is not None:
                with ErrorBoundary("looking whether the profile was forgotten meanwhile"):
                    await refresh_profile_block(engine, turn)
        return turn.profile_block

    async def _inject_into_agent_tool(self, invocation: InvocationContext, request: LlmRequest) -> None:
        """Add the profile to the prompt of an agent inside an AgentTool, if the configuration says so.

        It gets no tools: its messages come from the calling agent, not from the user.
        """
        turn = current_run().outer_turn
        if turn is None or self._turns.get(turn.invocation_id) is not turn:
            return
        async with self._engine_for(turn) as engine:
            if engine is None or not is_enabled_for(engine.config.memory, invocation, None, in_agent_tool=True):
                return
            await refresh_profile_block(engine, turn)
        if turn.profile_block:
            request.append_instructions([turn.profile_block])

    async def _end_invocation(self, invocation: InvocationContext) -> None:
        turn = self._turns.pop(invocation.invocation_id, None)
        if turn is None:
            return
        if turn.shifted_clock is not None:
            turn.shifted_clock.stop()
        enter_turn(None)
        if turn.lease is not None:
            turn.lease.window_turns = own_window(invocation)
        async with self._engine_for(turn) as engine:
            if engine is not None:
                await turn.end(engine)


def _adopt_model(engine: Engine, app: str, invocation: InvocationContext) -> None:
    """Tell memory which model the agent has."""
    from gaia_memory.adk.models.agent_model import find_agent_model

    model = find_agent_model(invocation.agent)
    if model is not None:
        engine.agent_models.adopt(app, model)
        if engine.config.memory.enabled:
            engine.agent_models.warn_if_offline(model)
