"""Conversations in ADK's session service: read after a position, and cleared only if there was no new message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig

from gaia_memory.adk.sessions.adk_tables import DatabaseEvents, delete_if_unchanged, engine_of_known_tables
from gaia_memory.adk.sessions.changed_sessions import find_changed_sessions
from gaia_memory.adk.sessions.event_mapping import position_of, zone_of
from gaia_memory.adk.sessions.event_pages import EventRange, LoadedEvents, pages
from gaia_memory.adk.sessions.turn_reader import TurnReader, live_ranges
from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

    from gaia_memory.adk.sessions.event_pages import StoredEvents

CLEARED_AT_KEY = "gaia:cleared_at"
"""Key in a session's state: everything before this time was rewound and need not be read again."""

_TICK_SECONDS = 1e-6
_LEAD_SECONDS = 3600.0
"""How long before a position the load of a session starts if it cannot be read in parts."""


class SessionTranscript:
    """The `Transcript` of one app over any ADK session service."""

    def __init__(
        self,
        session_service: BaseSessionService,
        app: str,
        *,
        clear_method: Literal["delete", "keep"],
        is_complete: bool = True,
    ) -> None:
        """Read and clear the sessions of `app`.

        `clear_method` is what "auto" means for this host; without `is_complete` the app may keep sessions elsewhere.
        """
        self.clear_method = clear_method
        self.is_complete = is_complete
        self._service = session_service
        self._app = app

    def __eq__(self, other: object) -> bool:
        """Return True if another transcript reads the same sessions, however it clears them."""
        if not isinstance(other, SessionTranscript):
            # A `DatabaseTranscript` opens the same service lazily and makes this comparison itself.
            return NotImplemented
        return (self._service, self._app) == (other._service, other._app)

    def __hash__(self) -> int:
        """Hash the app alone, as every transcript does."""
        return hash(self._app)

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return when each session of the app was changed, if at `since` or later; evaluations are left out."""
        return await find_changed_sessions(self._service, self._app, since=since)

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return the messages after a position; None if there is no such session."""
        opened = await self._open(key, since=None if after is None else after.timestamp - _LEAD_SECONDS)
        if opened is None:
            return None
        session, events = opened
        if self.clear_method == "delete" and after is not None and not await _has_event_at(events, after):
            # The session was deleted and started again: all of it is new, even if a host's clock is behind.
            session, events = await self._open(key, since=None) or opened
            after = after if await _has_event_at(events, after) else None
        end = await _end_position(session.events, events, after)
        zone = await zone_of(session)
        reader = await TurnReader.create(events, after=after, end=end, turns_before=turns_before, zone=zone)
        return TranscriptSlice(key=key, turns=reader, before=reader.lead_turns(), end=end, host_session=session)

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; return False, and change nothing, if there was a new message since."""
        if how == "rewind":
            return await self._rewind(conversation)
        newest = await self._load(conversation.key, GetSessionConfig(num_recent_events=1))
        if newest is None:
            return True
        if not _ends_with(newest.events, conversation.end):
            return False
        return await delete_if_unchanged(self._service, cast("Session", conversation.host_session))

    async def _rewind(self, conversation: TranscriptSlice) -> bool:
        """Append one event that rewinds everything, as a compare-and-swap on the session that was read."""
        loaded = cast("Session", conversation.host_session)
        since = loaded.state.get(CLEARED_AT_KEY)
        opened = await self._open(conversation.key, since=since if isinstance(since, float) else None)
        if opened is None:
            return True
        current, events = opened
        if not _ends_with(current.events, conversation.end):
            return False
        visible = await _first_visible(
            events, EventPosition(since, "") if isinstance(since, float) else None, conversation.end
        )
        if visible is None:
            return True
        try:
            await self._service.append_event(loaded, _build_rewind(visible, current.events[-1]))
        except SessionNotFoundError:
            return True
        except ValueError as error:
            # ADK's error for a session that changed meanwhile is a ValueError in a private module.
            if type(error).__name__ != "StaleSessionError":
                raise
            return False
        return True

    async def _open(self, key: SessionKey, *, since: float | None) -> tuple[Session, StoredEvents] | None:
        """Load a session with its newest event and return a reader for the others; or load all events since a time."""
        engine = await engine_of_known_tables(self._service, "get_session")
        if engine is None:
            session = await self._load(key, GetSessionConfig(after_timestamp=since))
            return None if session is None else (session, LoadedEvents(session.events))
        session = await self._load(key, GetSessionConfig(num_recent_events=1))
        return None if session is None else (session, DatabaseEvents(engine, session))

    async def _load(self, key: SessionKey, config: GetSessionConfig) -> Session | None:
        return await self._service.get_session(
            app_name=self._app, user_id=key.user, session_id=key.session, config=config
        )


async def _has_event_at(events: StoredEvents, mark: EventPosition) -> bool:
    newest = await events.select(EventRange(until=mark), limit=1, newest=True)
    return bool(newest) and newest[0].id == mark.event_id


async def _end_position(
    newest: Sequence[Event], events: StoredEvents, after: EventPosition | None
) -> EventPosition | None:
    """Return the position of the newest event, or `after` if none is newer."""
    if newest and (after is None or newest[-1].timestamp > after.timestamp):
        return position_of(newest[-1])
    # Times alone do not give the order: databases round them, and ADK stores some sessions in the order of appends.
    newer = await events.select(EventRange(after=after), limit=1, newest=True)
    return position_of(newer[0]) if newer else after


async def _first_visible(events: StoredEvents, after: EventPosition | None, end: EventPosition | None) -> Event | None:
    """Return the first event that was not rewound and that a rewind can go back to."""
    ranges, _ = await live_ranges(events, EventRange(after=after, until=end))
    for event_range in ranges:
        async for page in pages(events, event_range):
            for event in page:
                if event.invocation_id:
                    return event
    return None


def _ends_with(events: Sequence[Event], end: EventPosition | None) -> bool:
    return position_of(events[-1]) == end if events else end is None


def _build_rewind(first: Event, last: Event) -> Event:
    event = Event(
        invocation_id=Event.new_id(),
        author="user",
        actions=EventActions(rewind_before_invocation_id=first.invocation_id),
    )
    # If the host's clock is behind, the rewind must still sort after the events it rewinds.
    event.timestamp = max(event.timestamp, last.timestamp + _TICK_SECONDS)
    event.actions.state_delta = {CLEARED_AT_KEY: event.timestamp}
    return event
