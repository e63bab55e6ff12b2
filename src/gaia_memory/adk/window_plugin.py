"""Replays the last turns of a conversation instead of all of it, in anybody's Runner."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.base_session_service import GetSessionConfig
from pydantic import ConfigDict

from gaia_memory.adk.guard import Contained
from gaia_memory.adk.mapping import COMMAND_STAMP, REQUESTS_TO_THE_USER, is_stamped
from gaia_memory.adk.parts import ConfigSource, EngineSource
from gaia_memory.adk.service import Mem0MemoryService
from gaia_memory.models import Anchor, SessionKey
from gaia_memory.sessions.window import EventView, cut, require_window

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event

logger = logging.getLogger(__name__)


class AnchoredLoad(GetSessionConfig):
    """Bounds the load of a session and says which turn of the whole conversation it begins with.

    `remember` keeps where the window begins now, for the next load. It travels in the `RunConfig`, which ADK
    hands on to the Runner of an `AgentTool`: `key` tells that one's session from the one it was made for.
    """

    model_config = ConfigDict(frozen=True)

    key: SessionKey
    turn_no: int
    remember: Callable[[Anchor], Awaitable[None]]


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
        with Contained("trimming the session to the replay window"):
            await self._trim(invocation_context)

    async def close(self) -> None:
        """Give the engine back."""
        await self._source.release()

    async def _trim(self, context: InvocationContext) -> None:
        window_turns = await self._window(context)
        self._warn_of_compaction(context, window_turns)
        session = context.session
        loaded = _anchored_load(context)
        outcome = cut(
            [_view(event) for event in session.events],
            window_turns=window_turns,
            base=loaded.turn_no if loaded else 1,
            current=context.invocation_id,
            # The nodes of a Workflow find where they stopped in their invocation's events.
            whole_invocations=context.agent is None,
        )
        if len(outcome.kept) == len(session.events):
            return
        begins = session.events[outcome.begins] if outcome.begins is not None else None
        # In place: ADK already holds this list. It is a copy of what is stored and never written back.
        session.events[:] = [session.events[place] for place in outcome.kept]
        if loaded is not None and begins is not None:
            await loaded.remember(Anchor(turn_no=outcome.turn_no, at=begins.timestamp))

    async def _window(self, context: InvocationContext) -> int:
        if self._window_turns is not None:
            return self._window_turns
        if isinstance(context.memory_service, Mem0MemoryService):
            self._source.follow(context.memory_service.source)
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


def _view(event: Event) -> EventView:
    calls = event.get_function_calls()
    asked = {call.id for call in calls if call.id and call.name in REQUESTS_TO_THE_USER}
    return EventView(
        invocation_id=event.invocation_id,
        is_user_turn=_is_user_turn(event),
        is_compaction=event.actions.compaction is not None,
        by_user=event.author == "user",
        calls=frozenset(call.id for call in calls if call.id),
        responses=frozenset(response.id for response in event.get_function_responses() if response.id),
        long_running=frozenset((event.long_running_tool_ids or set()) | asked),
        rewinds_to=event.actions.rewind_before_invocation_id or None,
    )


def _is_user_turn(event: Event) -> bool:
    """Say whether a person begins to speak: not where they answer a call, nor with a command."""
    return (
        event.author == "user"
        and event.content is not None
        and bool(event.content.parts)
        and not event.get_function_responses()
        and event.actions.compaction is None
        and not is_stamped(event, COMMAND_STAMP)
    )
