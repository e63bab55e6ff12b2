"""Replays the last turns of a conversation instead of all of it, in anybody's Runner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.base_session_service import GetSessionConfig
from pydantic import ConfigDict, Field

from gaia_memory.adk.engine_source import ConfigSource, EngineSource
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.error_boundary import Contained
from gaia_memory.adk.plugins.evaluation_runs import is_left_alone
from gaia_memory.adk.sessions.event_mapping import COMMAND_STAMP, REQUESTS_TO_THE_USER, stamped_places
from gaia_memory.log import logger_for
from gaia_memory.models import Anchor, SessionKey
from gaia_memory.sessions.replay_window import Cut, EventView, Start, cut, require_window

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.genai import types

logger = logger_for(__name__)

BEGINNING = Anchor(turn_no=0, at=0.0)
"""The anchor of a load that leaves nothing out."""

_ABORTED = "INVOCATION_ABORTED"
"""ADK's error code of the responses with which it settles the calls of a turn that was broken off."""

_TICKS_A_SECOND = 1_000_000
"""Session databases keep and compare the times of events in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A load that leaves out what lies between the window and older turns that are still needed.

    `begins` is where the newest turns begin, with the event `event_id`; `older` are the events kept from before.
    """

    begins: Anchor
    event_id: str
    older: tuple[Event, ...] = field(repr=False)


class AnchoredLoad(GetSessionConfig):
    """Bounds the load of a session and says which turn of the whole conversation it begins with.

    `remember` keeps where the next load can begin: the anchor when it moved, and what is nearer than that. It
    travels in the `RunConfig`, which ADK hands on to the Runner of an `AgentTool`: `key` tells that one's session
    from the one it was made for.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    key: SessionKey
    turn_no: int
    near: Near | None = Field(default=None, exclude=True, repr=False)
    remember: Callable[[Anchor | None, Near | None], Awaitable[None]]

    def is_of(self, events: Sequence[Event]) -> bool:
        """Say whether a load begins where it has to; a session that was made anew does not."""
        return self.near is None or (bool(events) and events[0].id == self.near.event_id)


class SessionWindowPlugin(BasePlugin):
    """Trims the loaded session before a turn; what is stored stays as it is.

    `window_turns` is how many turns are replayed at most, the current one included; between two cuts it may be
    a third fewer, so that a prompt cache can reuse the beginning. Without it the configuration's
    `sessions.window_turns` counts. With it the plugin needs no configuration and opens nothing.
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
            InvalidInputError: `window_turns` is below 1.
        """
        super().__init__(name=name)
        self._window_turns = None if window_turns is None else require_window(window_turns)
        self._source = EngineSource(config)
        self._warned = False

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Drop the turns before the window from the loaded session; the turn goes on whatever happens."""
        if self._window_turns is None and is_left_alone(invocation_context, self._source):
            return
        with Contained("trimming the session to the replay window"):
            await self._trim(invocation_context)

    async def close(self) -> None:
        """Give the engine back."""
        await self._source.release()

    async def _trim(self, context: InvocationContext) -> None:
        window_turns = await self._window(context)
        self._warn_of_compaction(context, window_turns)
        session = context.session
        load = _anchored_load(context)
        older = load.near.older if load and load.near else ()
        events, whole = [*older, *session.events], False
        outcome = _cut(context, events, window_turns, base=load.turn_no if load else 0, older=len(older))
        if load is not None and load.after_timestamp and (outcome.is_short or not load.is_of(session.events)):
            # The window grew, a rewind brought earlier turns back into it, or it is another session by now.
            events, whole = await _all_events(context), True
            outcome = _cut(context, events, window_turns)
        # In place: ADK already holds this list. It is a copy of what is stored and never written back.
        session.events[:] = [events[place] for place in outcome.kept]
        if load is not None:
            await load.remember(_anchor(events, outcome, whole=whole), _near(events, outcome))

    async def _window(self, context: InvocationContext) -> int:
        if self._window_turns is not None:
            return self._window_turns
        if isinstance(context.memory_service, Mem0MemoryService):
            await self._source.follow(context.memory_service.source)
        engine = await self._source.hold()
        return engine.config.sessions.window_turns

    def _warn_of_compaction(self, context: InvocationContext, window_turns: int) -> None:
        compaction = context.events_compaction_config
        if self._warned or compaction is None or compaction.compaction_interval is None:
            return
        needed = compaction.compaction_interval + (compaction.overlap_size or 0)
        if window_turns < needed:
            self._warned = True
            logger.warning(
                "sessions.window_turns is %d, below compaction_interval + overlap_size = %d of the app's "
                "events_compaction_config: ADK never sees enough turns to compact; raise the one or lower the other",
                window_turns,
                needed,
            )


def _anchored_load(context: InvocationContext) -> AnchoredLoad | None:
    load = context.run_config.get_session_config if context.run_config else None
    session = context.session
    key = SessionKey(session.app_name, session.user_id, session.id)
    return load if isinstance(load, AnchoredLoad) and load.key == key else None


async def _all_events(context: InvocationContext) -> list[Event]:
    session = context.session
    whole = await context.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    return whole.events if whole is not None else session.events


def _cut(
    context: InvocationContext, events: Sequence[Event], window_turns: int, *, base: int = 0, older: int = 0
) -> Cut:
    return cut(
        views(events),
        window_turns=window_turns,
        base=base,
        older=older,
        current=context.invocation_id,
        # The nodes of a Workflow find where they stopped in their invocation's events.
        whole_invocations=context.agent is None,
    )


def _anchor(events: Sequence[Event], outcome: Cut, *, whole: bool) -> Anchor | None:
    """Return where the next load can begin; None where that did not move."""
    anchor = _told_apart(events, outcome.begins)
    return BEGINNING if anchor is None and whole else anchor


def _near(events: Sequence[Event], outcome: Cut) -> Near | None:
    anchor = _told_apart(events, outcome.recent)
    if anchor is None or outcome.recent is None:
        return None
    place = outcome.recent.place
    older = tuple(events[kept] for kept in outcome.kept if kept < place)
    return Near(begins=anchor, event_id=events[place].id, older=older)


def _told_apart(events: Sequence[Event], start: Start | None) -> Anchor | None:
    """Return a start as a time, when the events from there on are exactly those not before that time."""
    if start is None:
        return None
    times = [round(event.timestamp * _TICKS_A_SECOND) for event in events]
    if max(times[: start.place]) >= min(times[start.place :]):
        return None
    return Anchor(turn_no=start.turn_no, at=min(event.timestamp for event in events[start.place :]))


def views(events: Sequence[Event]) -> list[EventView]:
    """Return ADK's events as the window sees them."""
    commands = stamped_places(events, COMMAND_STAMP)
    return [_view(event, is_command=place in commands) for place, event in enumerate(events)]


def _view(event: Event, *, is_command: bool) -> EventView:
    calls = event.get_function_calls()
    asked = {call.id for call in calls if call.id and call.name in REQUESTS_TO_THE_USER}
    return EventView(
        invocation_id=event.invocation_id,
        is_user_turn=not is_command and _is_user_turn(event),
        is_compaction=event.actions.compaction is not None,
        settles=event.author == "user" or event.error_code == _ABORTED,
        calls=frozenset(call.id for call in calls if call.id),
        responses=frozenset(response.id for response in event.get_function_responses() if response.id),
        long_running=frozenset((event.long_running_tool_ids or set()) | asked),
        rewinds_to=event.actions.rewind_before_invocation_id or None,
    )


def _is_user_turn(event: Event) -> bool:
    """Say whether a person begins to speak: not where they answer a call, nor with nothing a model is shown."""
    if event.author != "user" or event.actions.compaction is not None or event.get_function_responses():
        return False
    if event.content is None:
        return bool(event.input_transcription and event.input_transcription.text)
    return bool(event.content.role) and any(_says_something(part) for part in event.content.parts or [])


def _says_something(part: types.Part) -> bool:
    said = part.text and not part.thought
    return bool(said or part.inline_data or part.file_data or part.executable_code or part.code_execution_result)
