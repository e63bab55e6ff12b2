"""Replays the last turns of a conversation instead of all of it, with long results of tools cut, in any Runner."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.base_session_service import GetSessionConfig
from pydantic import BaseModel, ConfigDict

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, USER_REQUEST_CALLS, indices_with_key
from gaia_memory.adk.tools.memory_tools import MemoryTool
from gaia_memory.config.sections.sessions_section import SessionsConfig
from gaia_memory.engine_registry import ConfigSource, EngineSource
from gaia_memory.models import SessionKey, WindowAnchor
from gaia_memory.models.validation import raise_invalid
from gaia_memory.sessions.replay_window import EventView, WindowSelection, WindowStart, require_window, select_window

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types


START_ANCHOR = WindowAnchor(turn_no=0, timestamp=0.0)
"""The anchor of a full load."""

_EVALUATION_MODULE_PREFIX = "google.adk.evaluation."

_ABORTED_ERROR_CODE = "INVOCATION_ABORTED"
"""ADK's error code of the responses to open calls of an aborted turn."""

_MICROSECONDS_PER_SECOND = 1_000_000
"""Session databases store and compare the times of events in microseconds."""

OWN_TOOLS = frozenset({"remember", "load_memory", "recall", "update_memory", "forget_memory", "switch_context"})
"""The tools of memory; their answers have a budget of their own."""


class WindowedSessionLoad(GetSessionConfig):
    """Limits the load of a session and says with which turn of the whole conversation it begins.

    `save_start` stores where the next load can begin. The load is part of the `RunConfig`, which ADK passes on to the
    Runner of an `AgentTool`: `key` is the session it is meant for.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    key: SessionKey
    turn_no: int
    save_start: Callable[[WindowAnchor], Awaitable[None]]


class SessionWindowPlugin(BasePlugin):
    """Trims the loaded session before a turn; the stored session is not changed.

    `window_turns` is the maximum of replayed turns, including the current one. Turns are cut in steps of a third of
    it, so that a prompt cache can reuse the beginning. The default is `sessions.window_turns` of the configuration;
    with the argument, the plugin needs no configuration and opens nothing. Results of tools are cut to
    `sessions.tool_result_chars` in each request, with the argument to its default.
    """

    def __init__(
        self,
        name: str = "gaia_session_window",
        *,
        window_turns: int | None = None,
        config: ConfigSource | None = None,
    ) -> None:
        """Do no I/O.

        Raises:
            InvalidInputError: `window_turns` is no whole number from 1 on, or `name` looks like a configuration file.
        """
        super().__init__(name=require_plugin_name(name))
        self._window_turns = None if window_turns is None else require_window(window_turns)
        self._source = EngineSource(config)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Drop the turns before the window from the loaded session; a failure does not end the turn."""
        if self._window_turns is None and must_skip_evaluation(invocation_context, self._source):
            return
        with ErrorBoundary("trimming the session to the replay window"):
            await self._trim(invocation_context)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Cut long results of tools in the request; the stored session keeps them whole."""
        context = callback_context.get_invocation_context()
        if self._window_turns is None and must_skip_evaluation(context, self._source):
            return None
        with ErrorBoundary("cutting long results of tools"):
            sessions = SessionsConfig() if self._window_turns is not None else await self._load_settings(context)
            if sessions.tool_result_chars is not None:
                cut_tool_results(llm_request, sessions.tool_result_chars)
        return None

    @property
    def window_turns(self) -> int | None:
        """The argument `window_turns`; None for that of the configuration."""
        return self._window_turns

    async def close(self) -> None:
        """Release the engine."""
        await self._source.release()

    async def _trim(self, context: InvocationContext) -> None:
        window_turns = self._window_turns or (await self._load_settings(context)).window_turns
        session = context.session
        load = _windowed_load(context)
        events, is_complete = list(session.events), False
        selection = _select_window(context, events, window_turns, base=load.turn_no if load else 0)
        if load is not None and load.after_timestamp and selection.is_incomplete:
            # The window grew, or a rewind moved earlier turns into it.
            events, is_complete = await _all_events(context), True
            selection = _select_window(context, events, window_turns)
        # In place: ADK already uses this list. It is a copy of the stored events and never written back.
        session.events[:] = [events[place] for place in selection.indices]
        anchor = _next_anchor(events, selection, is_complete=is_complete)
        if load is not None and anchor is not None:
            await load.save_start(anchor)

    async def _load_settings(self, context: InvocationContext) -> SessionsConfig:
        if isinstance(context.memory_service, Mem0MemoryService):
            await self._source.inherit_config(context.memory_service.source)
        engine = await self._source.acquire()
        return engine.config.sessions


def must_skip_evaluation(invocation: InvocationContext, source: EngineSource) -> bool:
    """Return True if ADK evaluates an agent, and no memory was named for it explicitly: a plugin must skip this run."""
    service = invocation.memory_service
    is_named = source.is_named or (isinstance(service, Mem0MemoryService) and service.source.is_named)
    plugins = invocation.plugin_manager.plugins
    return not is_named and any(type(plugin).__module__.startswith(_EVALUATION_MODULE_PREFIX) for plugin in plugins)


def require_plugin_name(name: object) -> str:
    """Return the name of a plugin in ADK; a path or a configuration in its place is refused.

    Raises:
        InvalidInputError: it is not a text, is empty, or looks like a configuration file.
    """
    if not isinstance(name, str) or not name or "/" in name or name.endswith((".yaml", ".yml")):
        raise_invalid("name", name, "it is the plugin's name in ADK; pass a configuration as config=…")
    return name


def own_window(invocation: InvocationContext) -> int | None:
    """Return the window that was given to the plugin of this Runner; None if it is the configured one."""
    plugins = invocation.plugin_manager.plugins
    return next((plugin.window_turns for plugin in plugins if isinstance(plugin, SessionWindowPlugin)), None)


def _windowed_load(context: InvocationContext) -> WindowedSessionLoad | None:
    load = context.run_config.get_session_config if context.run_config else None
    session = context.session
    key = SessionKey(session.app_name, session.user_id, session.id)
    return load if isinstance(load, WindowedSessionLoad) and load.key == key else None


async def _all_events(context: InvocationContext) -> list[Event]:
    session = context.session
    full_session = await context.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    return full_session.events if full_session is not None else session.events


def _select_window(
    context: InvocationContext, events: Sequence[Event], window_turns: int, *, base: int = 0
) -> WindowSelection:
    return select_window(
        event_views(events),
        window_turns=window_turns,
        base_turn_no=base,
        current_invocation_id=context.invocation_id,
        # The nodes of a Workflow resume from their invocation's events.
        whole_invocations=context.agent is None,
    )


def _next_anchor(events: Sequence[Event], selection: WindowSelection, *, is_complete: bool) -> WindowAnchor | None:
    """Return where the next load can begin; None if that did not move."""
    anchor = _time_boundary(events, selection.start)
    return START_ANCHOR if anchor is None and is_complete else anchor


def _time_boundary(events: Sequence[Event], start: WindowStart | None) -> WindowAnchor | None:
    """Return a start as a time; None unless exactly the events from there on are at or after that time."""
    if start is None:
        return None
    times = [round(event.timestamp * _MICROSECONDS_PER_SECOND) for event in events]
    if max(times[: start.index]) >= min(times[start.index :]):
        return None
    return WindowAnchor(turn_no=start.turn_no, timestamp=min(event.timestamp for event in events[start.index :]))


def event_views(events: Sequence[Event]) -> list[EventView]:
    """Return the window's views of ADK's events."""
    commands = indices_with_key(events, COMMAND_KEY)
    return [_view(event, is_command=place in commands) for place, event in enumerate(events)]


def _view(event: Event, *, is_command: bool) -> EventView:
    calls = event.get_function_calls()
    request_ids = {call.id for call in calls if call.id and call.name in USER_REQUEST_CALLS}
    return EventView(
        invocation_id=event.invocation_id,
        is_user_turn=not is_command and _is_user_turn(event),
        is_compaction=event.actions.compaction is not None,
        answers_long_running=event.author == "user" or event.error_code == _ABORTED_ERROR_CODE,
        calls=frozenset(call.id for call in calls if call.id),
        responses=frozenset(response.id for response in event.get_function_responses() if response.id),
        long_running=frozenset((event.long_running_tool_ids or set()) | request_ids),
        rewinds_to=event.actions.rewind_before_invocation_id or None,
    )


def _is_user_turn(event: Event) -> bool:
    """Return True if a user's turn begins: not with the answer to a call, nor without content for the model."""
    if event.author != "user" or event.actions.compaction is not None or event.get_function_responses():
        return False
    if event.content is None:
        return bool(event.input_transcription and event.input_transcription.text)
    return bool(event.content.role) and any(_has_content(part) for part in event.content.parts or [])


def _has_content(part: types.Part) -> bool:
    visible_text = part.text and not part.thought
    return bool(
        visible_text or part.inline_data or part.file_data or part.executable_code or part.code_execution_result
    )


_MARK_CHARACTERS = 60
"""Room for the mark and the name of the result."""


def cut_tool_results(request: LlmRequest, max_characters: int) -> None:
    """Cut every tool result of a request to `max_characters`, with a mark that says how much is missing.

    A long text is cut as it is, any other result as JSON. Files in a result stay. The contents are replaced, not
    changed: they may belong to the session. A tool of the agent's own is cut whatever its name.
    """
    tools = request.tools_dict
    exempt = {name for name in OWN_TOOLS if isinstance(tools.get(name), MemoryTool | None)}
    request.contents = [
        content.model_copy(update={"parts": [_cut_part(part, max_characters, exempt) for part in content.parts or []]})
        for content in request.contents
    ]


def _cut_part(part: types.Part, max_characters: int, exempt: Collection[str]) -> types.Part:
    response = part.function_response
    if response is None or response.name in exempt:
        return part
    given = response.response or {}
    files = {name: value for name, value in given.items() if _contains_file(value)}
    rest = {name: value for name, value in given.items() if name not in files}
    [name, text], *others = rest.items() or [("", "")]
    if others or not isinstance(text, str):
        name, text = "result", json.dumps(rest, ensure_ascii=False, default=_as_json)
    if len(text) <= max_characters:
        return part
    kept = max_characters - _MARK_CHARACTERS
    cut = f"{text[:kept]}… [cut: {len(text) - kept} more characters]"
    result = response.model_copy(update={"response": {**files, name: cut}})
    return part.model_copy(update={"function_response": result})


def _as_json(value: object) -> object:
    return value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else str(value)


def _contains_file(value: object) -> bool:
    if isinstance(value, dict | list | tuple):
        return any(map(_contains_file, value.values() if isinstance(value, dict) else value))
    return isinstance(value, bytes)
