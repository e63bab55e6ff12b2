"""Conversations in ADK's session service: read after a position, and cleared only if there was no new message."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, cast

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.shared import timestamp_to_utc_datetime
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from sqlalchemy import ColumnElement, Text, and_, delete, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from gaia_memory.adk.sessions.event_mapping import position_of, zone_of
from gaia_memory.adk.sessions.session_database import query_changed_sessions, without_evaluations
from gaia_memory.adk.sessions.stale_session import update_marker
from gaia_memory.adk.sessions.turn_reader import EventRange, LoadedEvents, TurnReader, live_ranges, pages
from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.adk.sessions.turn_reader import EventMarker, StoredEvents


CLEARED_AT_KEY = "gaia:cleared_at"
"""Key in a session's state: everything before this time was rewound and need not be read again."""

_TICK_SECONDS = 1e-6
_LEAD_SECONDS = 3600.0
"""How long before a position the load of a session starts if it cannot be read in parts."""

_MARKER_TEXTS: dict[EventMarker, str] = {"rewind": "rewind_before_invocation_id", "stamp": "gaia:"}
"""The text that every stored event with the mark contains; other events may contain it too."""

_DIALECTS = ("sqlite", "postgresql")


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


async def find_changed_sessions(
    service: BaseSessionService, app: str, *, since: float | None
) -> dict[SessionKey, float]:
    """Return what `query_changed_sessions` does, for any session service."""
    engine = await engine_of_known_tables(service, "list_sessions")
    if engine is not None:
        return await query_changed_sessions(engine, app, since=since)
    # This loads every session's state.
    listed = (await service.list_sessions(app_name=app)).sessions
    changed_at = {SessionKey(app, session.user_id, session.id): session.last_update_time for session in listed}
    return without_evaluations({key: at for key, at in changed_at.items() if since is None or at >= since})


async def engine_of_known_tables(service: BaseSessionService, method: str) -> AsyncEngine | None:
    """Return the engine over ADK's own tables; None if they are unknown or `service` overrides `method`."""
    is_overridden = getattr(getattr(service, method), "__func__", None) is not getattr(DatabaseSessionService, method)
    if is_overridden or not isinstance(service, DatabaseSessionService):
        return None
    await service.prepare_tables()
    # The older tables store the queried fields in pickles.
    classes = getattr(service, "_get_schema_classes", lambda: None)()
    is_known = getattr(classes, "StorageEvent", None) is StorageEvent
    return service.db_engine if is_known and service.db_engine.dialect.name in _DIALECTS else None


class DatabaseEvents:
    """The events of a session in the tables of ADK's `DatabaseSessionService`, read-only.

    The database compares positions, in ADK's order: only the database knows how it sorts ids.
    """

    def __init__(self, engine: AsyncEngine, session: Session) -> None:
        self._engine = engine.execution_options(read_only=True)
        self._session_filter = _events_of(session)

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part."""
        order = (StorageEvent.timestamp, StorageEvent.id)
        statement = select(StorageEvent).where(self._session_filter, *self._range_conditions(event_range)).limit(limit)
        statement = statement.order_by(*(column.desc() for column in order) if newest else order)
        async with AsyncSession(self._engine) as rows:
            return [row.to_event() for row in await rows.scalars(statement)]

    def _range_conditions(self, event_range: EventRange) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        place = tuple_(StorageEvent.timestamp, StorageEvent.id)
        for mark, compare in (
            (event_range.after, operator.gt),
            (event_range.until, operator.le),
            (event_range.before, operator.lt),
        ):
            if mark is not None:
                conditions.append(compare(place, tuple_(self._stored_time(mark), literal(mark.event_id))))
        if event_range.invocations is not None:
            conditions.append(StorageEvent.invocation_id.in_(event_range.invocations))
        if event_range.carrying is not None:
            conditions.append(StorageEvent.event_data.cast(Text).contains(_MARKER_TEXTS[event_range.carrying]))
        return conditions

    def _stored_time(self, mark: EventPosition) -> ColumnElement[Any]:
        """Return the stored time of an event, which may be rounded; the given time if there is no such event."""
        stored = select(StorageEvent.timestamp).where(self._session_filter, StorageEvent.id == mark.event_id)
        given_time = literal(timestamp_to_utc_datetime(mark.timestamp), StorageEvent.timestamp.type)
        return func.coalesce(stored.scalar_subquery(), given_time)


async def delete_if_unchanged(service: BaseSessionService, session: Session) -> bool:
    """Delete a session with its events; return False, and delete nothing, if it changed since it was loaded.

    ADK's `delete_session` does not compare and would lose new messages. Only a service with unknown tables is asked.
    """
    engine = await engine_of_known_tables(service, "delete_session")
    if engine is None or update_marker(session) is None:
        await service.delete_session(app_name=session.app_name, user_id=session.user_id, session_id=session.id)
        return True
    is_session = and_(
        StorageSession.app_name == session.app_name,
        StorageSession.user_id == session.user_id,
        StorageSession.id == session.id,
    )
    async with engine.begin() as connection:
        stored_update_time = await connection.scalar(select(StorageSession.update_time).where(is_session))
        if stored_update_time is None:
            return True
        if StorageSession(update_time=stored_update_time).get_update_marker() != update_marker(session):
            return False
        # Reading takes no lock: the condition finds a change since then.
        deleted = await connection.execute(
            delete(StorageSession).where(is_session, StorageSession.update_time == stored_update_time)
        )
        if deleted.rowcount:
            await connection.execute(delete(StorageEvent).where(_events_of(session)))
    return bool(deleted.rowcount)


def _events_of(session: Session) -> ColumnElement[bool]:
    return and_(
        StorageEvent.app_name == session.app_name,
        StorageEvent.user_id == session.user_id,
        StorageEvent.session_id == session.id,
    )
