"""Reads the events of one session page by page: a long conversation is never in memory as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.shared import timestamp_to_utc_datetime
from google.adk.sessions.schemas.v1 import StorageEvent
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy import ColumnElement, Text, and_, cast, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from gaia_memory.adk.sessions.event_mapping import metadata_keys, position_of
from gaia_memory.models import EventPosition

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine

PAGE_SIZE = 100
"""Events read at once."""

EventMarker = Literal["rewind", "stamp"]
"""A mark of an event that affects others: it rewinds them, or says that they are not to be learned."""

_MARKER_TEXTS: dict[EventMarker, str] = {"rewind": "rewind_before_invocation_id", "stamp": "gaia:"}
"""The text that every stored event with the mark contains; other events may contain it too."""

_DIALECTS = ("sqlite", "postgresql")
_PER_AGENT_SERVICE = "PerAgentDatabaseSessionService"
"""The default of `adk web`: one service per app. Its module is not imported, because that loads a command line."""

_SESSION_FILTER = "app_name = ? AND user_id = ? AND session_id = ?"
_MAX_ROWID = 2**62


@dataclass(frozen=True, slots=True)
class EventRange:
    """A part of a transcript: after `after`, up to and including `until`, and before `before`, as far as given.

    With `carrying` it contains all events with that mark, and maybe others; with `invocations`, only their events.
    """

    after: EventPosition | None = None
    until: EventPosition | None = None
    before: EventPosition | None = None
    carrying: EventMarker | None = None
    invocations: Collection[str] | None = None


class StoredEvents(Protocol):
    """The events of one session in the order of its service."""

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return the oldest events of a part, or with `newest` the newest ones in reverse order."""


async def pages(events: StoredEvents, event_range: EventRange) -> AsyncIterator[list[Event]]:
    """Yield the events of a part, oldest first, page by page."""
    while True:
        page = await events.select(event_range, limit=PAGE_SIZE)
        if page:
            yield page
        if len(page) < PAGE_SIZE:
            return
        event_range = replace(event_range, after=position_of(page[-1]))


async def event_reader_for(service: BaseSessionService, app: str) -> Callable[[Session], StoredEvents] | None:
    """Return a reader for parts of an app's session; None if this service can only load it as a whole.

    ADK's `get_session` cannot continue from an event. The tables of ADK's own services are therefore read directly, if
    `get_session` is not overridden and the tables are known.
    """
    service = await unwrap_service(service, app)
    if isinstance(service, DatabaseSessionService) and _uses_get_session_of(service, DatabaseSessionService):
        await service.prepare_tables()
        if service.db_engine.dialect.name in _DIALECTS and has_current_schema(service):
            return partial(DatabaseEvents, service.db_engine)
    if isinstance(service, SqliteSessionService) and _uses_get_session_of(service, SqliteSessionService):
        connect = getattr(service, "_get_db_connection", None)
        return partial(SqliteEvents, connect) if connect is not None else None
    return None


def _uses_get_session_of(service: BaseSessionService, kind: type[BaseSessionService]) -> bool:
    return getattr(service.get_session, "__func__", None) is kind.get_session


def is_per_agent_service(service: BaseSessionService) -> bool:
    """Return True for the service of `adk web`, which has a `SqliteSessionService` for each app."""
    return type(service).__name__ == _PER_AGENT_SERVICE


async def unwrap_service(service: BaseSessionService, app: str) -> BaseSessionService:
    """Return the service with an app's sessions, if `service` delegates to one service per app."""
    if is_per_agent_service(service) and hasattr(service, "_get_service"):
        app_service: BaseSessionService = await service._get_service(app)
        return app_service
    return service


def has_current_schema(service: DatabaseSessionService) -> bool:
    """Return True if its tables are those of ADK's current version."""
    # The older tables store the queried fields in pickles.
    classes = getattr(service, "_get_schema_classes", lambda: None)()
    return getattr(classes, "StorageEvent", None) is StorageEvent


class LoadedEvents:
    """The events of a session that was loaded as a whole."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._indices = {event.id: place for place, event in enumerate(events)}

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part; `limit` applies only with `newest`."""
        found: list[Event] = []
        indices = self._index_range(event_range)
        for index in reversed(indices) if newest else indices:
            event = self._events[index]
            if (
                event_range.after is not None
                and event_range.after.event_id not in self._indices
                and event.timestamp <= event_range.after.timestamp
            ):
                continue
            if event_range.carrying is not None and not _has_marker(event, event_range.carrying):
                continue
            if event_range.invocations is None or event.invocation_id in event_range.invocations:
                found.append(event)
            if newest and len(found) == limit:
                break
        return found

    def _index_range(self, event_range: EventRange) -> range:
        first = 0 if event_range.after is None else self._indices.get(event_range.after.event_id, -1) + 1
        ends = [len(self._events)]
        if event_range.until is not None:
            ends.append(self._end_index(event_range.until))
        if event_range.before is not None:
            ends.append(self._indices.get(event_range.before.event_id, len(self._events)))
        return range(first, min(ends))

    def _end_index(self, mark: EventPosition) -> int:
        if mark.event_id in self._indices:
            return self._indices[mark.event_id] + 1
        later = (place for place, event in enumerate(self._events) if event.timestamp > mark.timestamp)
        return next(later, len(self._events))


def _has_marker(event: Event, marker: EventMarker) -> bool:
    return bool(event.actions.rewind_before_invocation_id) if marker == "rewind" else bool(metadata_keys(event))


class DatabaseEvents:
    """The events of a session in the tables of ADK's `DatabaseSessionService`, read-only.

    The database compares positions, in ADK's order: only the database knows how it sorts ids.
    """

    def __init__(self, engine: AsyncEngine, session: Session) -> None:
        self._engine = engine.execution_options(read_only=True)
        self._session_filter = and_(
            StorageEvent.app_name == session.app_name,
            StorageEvent.user_id == session.user_id,
            StorageEvent.session_id == session.id,
        )

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part."""
        order = (StorageEvent.timestamp, StorageEvent.id)
        statement = select(StorageEvent).where(self._session_filter, *self._range_conditions(event_range)).limit(limit)
        statement = statement.order_by(*(column.desc() for column in order) if newest else order)
        async with AsyncSession(self._engine) as rows:
            return [row.to_event() for row in await rows.scalars(statement)]

    def _range_conditions(self, event_range: EventRange) -> list[ColumnElement[bool]]:
        conditions = []
        if event_range.after is not None:
            at = self._stored_time(event_range.after)
            later = or_(StorageEvent.timestamp > at, StorageEvent.id > event_range.after.event_id)
            conditions += [StorageEvent.timestamp >= at, later]
        if event_range.until is not None:
            at = self._stored_time(event_range.until)
            earlier = or_(StorageEvent.timestamp < at, StorageEvent.id <= event_range.until.event_id)
            conditions += [StorageEvent.timestamp <= at, earlier]
        if event_range.before is not None:
            at = self._stored_time(event_range.before)
            earlier = or_(StorageEvent.timestamp < at, StorageEvent.id < event_range.before.event_id)
            conditions += [StorageEvent.timestamp <= at, earlier]
        if event_range.invocations is not None:
            conditions.append(StorageEvent.invocation_id.in_(event_range.invocations))
        if event_range.carrying is not None:
            conditions.append(cast(StorageEvent.event_data, Text).contains(_MARKER_TEXTS[event_range.carrying]))
        return conditions

    def _stored_time(self, mark: EventPosition) -> ColumnElement[Any]:
        """Return the stored time of an event, which may be rounded; the given time if there is no such event."""
        stored = select(StorageEvent.timestamp).where(self._session_filter, StorageEvent.id == mark.event_id)
        given_time = literal(timestamp_to_utc_datetime(mark.timestamp), StorageEvent.timestamp.type)
        return func.coalesce(stored.scalar_subquery(), given_time)


class SqliteEvents:
    """The events of a session in the tables of ADK's `SqliteSessionService`, read-only."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Any]], session: Session) -> None:
        self._connect = connect
        self._session = (session.app_name, session.user_id, session.id)

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part."""
        where = [_SESSION_FILTER]
        values: list[object] = [*self._session]
        for mark, operator, missing_rowid in (
            (event_range.after, ">", _MAX_ROWID),
            (event_range.until, "<=", _MAX_ROWID),
            (event_range.before, "<", 0),
        ):
            if mark is not None:
                stored = f"SELECT {{}} FROM events WHERE {_SESSION_FILTER} AND id = ?"
                position = f"coalesce(({stored.format('timestamp')}), ?), coalesce(({stored.format('rowid')}), ?)"
                where.append(f"(timestamp, rowid) {operator} ({position})")
                values += [*self._session, mark.event_id, mark.timestamp, *self._session, mark.event_id, missing_rowid]
        if event_range.invocations is not None:
            where.append(f"invocation_id IN ({', '.join('?' * len(event_range.invocations))})")
            values += event_range.invocations
        if event_range.carrying is not None:
            where.append("instr(event_data, ?)")
            values.append(_MARKER_TEXTS[event_range.carrying])
        order = "timestamp DESC, rowid DESC" if newest else "timestamp, rowid"
        # Sort row ids without the event data, which may be long.
        selected_rowids = f"SELECT rowid FROM events WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
        statement = f"SELECT event_data FROM events WHERE rowid IN ({selected_rowids}) ORDER BY {order}"
        async with self._connect() as connection:
            rows = await connection.execute_fetchall(statement, [*values, limit])
        return [Event.model_validate_json(row[0]) for row in rows]
