"""The events of one session, part by part: a long talk is never in memory as a whole."""

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

from gaia_memory.adk.sessions.event_mapping import mark_of, stamps_of
from gaia_memory.models import Mark

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine

PAGE = 100
"""Events that are read at once."""

Carried = Literal["rewind", "stamp"]
"""What an event may carry that bears on others: it takes them back, or says that they are not to be learned."""

_WORDS: dict[Carried, str] = {"rewind": "rewind_before_invocation_id", "stamp": "gaia:"}
"""What the stored form of an event that carries it holds; other events may hold it too."""

_DIALECTS = ("sqlite", "postgresql")
_SERVICE_OF_SERVICES = "PerAgentDatabaseSessionService"
"""What `adk web` takes when it is given none: a service for each app, in a module that brings a command line along."""

_ITS = "app_name = ? AND user_id = ? AND session_id = ?"
_LAST = 2**62


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a transcript: behind `after`, up to `until` and ahead of `before`, each where it is given.

    Of what is `carrying` something it holds all, and maybe others; of `invocations` only theirs.
    """

    after: Mark | None = None
    until: Mark | None = None
    before: Mark | None = None
    carrying: Carried | None = None
    invocations: Collection[str] | None = None


class StoredEvents(Protocol):
    """The events of one session in the order of its service."""

    async def select(self, part: Part, *, limit: int, newest: bool = False) -> list[Event]:
        """Return the oldest events of a part, or (`newest`) the newest ones with the last one first."""


async def pages(events: StoredEvents, part: Part) -> AsyncIterator[list[Event]]:
    """Yield the events of a part, oldest first, page by page."""
    while True:
        page = await events.select(part, limit=PAGE)
        if page:
            yield page
        if len(page) < PAGE:
            return
        part = replace(part, after=mark_of(page[-1]))


async def pager_of(service: BaseSessionService, app: str) -> Callable[[Session], StoredEvents] | None:
    """Return what reads an app's session in parts; None where this service can only load it as a whole.

    ADK's own services are asked past `get_session`, which has no way to read on from an event: only where that
    is what it would return, and the tables are those known here.
    """
    service = await service_behind(service, app)
    if isinstance(service, DatabaseSessionService) and _loads_as(service, DatabaseSessionService):
        await service.prepare_tables()
        if service.db_engine.dialect.name in _DIALECTS and is_known(service):
            return partial(DatabaseEvents, service.db_engine)
    if isinstance(service, SqliteSessionService) and _loads_as(service, SqliteSessionService):
        connect = getattr(service, "_get_db_connection", None)
        return partial(SqliteEvents, connect) if connect is not None else None
    return None


def _loads_as(service: BaseSessionService, kind: type[BaseSessionService]) -> bool:
    return getattr(service.get_session, "__func__", None) is kind.get_session


def stands_for_many(service: BaseSessionService) -> bool:
    """Say whether it is the service of `adk web`, which keeps a `SqliteSessionService` for each app."""
    return type(service).__name__ == _SERVICE_OF_SERVICES


async def service_behind(service: BaseSessionService, app: str) -> BaseSessionService:
    """Return the service that keeps an app's sessions, where one stands for many."""
    if stands_for_many(service) and hasattr(service, "_get_service"):
        behind: BaseSessionService = await service._get_service(app)
        return behind
    return service


def is_known(service: DatabaseSessionService) -> bool:
    """Say whether its tables are those of ADK's present version."""
    # ADK's older tables keep what is asked for here in pickles.
    classes = getattr(service, "_get_schema_classes", lambda: None)()
    return getattr(classes, "StorageEvent", None) is StorageEvent


class LoadedEvents:
    """The events of a session that was loaded as a whole."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._places = {event.id: place for place, event in enumerate(events)}

    async def select(self, part: Part, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part; the oldest ones all at once."""
        found: list[Event] = []
        places = self._range(part)
        for place in reversed(places) if newest else places:
            event = self._events[place]
            if part.after is not None and part.after.event_id not in self._places and event.timestamp <= part.after.at:
                continue
            if part.carrying is not None and not _carries(event, part.carrying):
                continue
            if part.invocations is None or event.invocation_id in part.invocations:
                found.append(event)
            if newest and len(found) == limit:
                break
        return found

    def _range(self, part: Part) -> range:
        first = 0 if part.after is None else self._places.get(part.after.event_id, -1) + 1
        ends = [len(self._events)]
        if part.until is not None:
            ends.append(self._behind(part.until))
        if part.before is not None:
            ends.append(self._places.get(part.before.event_id, len(self._events)))
        return range(first, min(ends))

    def _behind(self, mark: Mark) -> int:
        if mark.event_id in self._places:
            return self._places[mark.event_id] + 1
        later = (place for place, event in enumerate(self._events) if event.timestamp > mark.at)
        return next(later, len(self._events))


def _carries(event: Event, what: Carried) -> bool:
    return bool(event.actions.rewind_before_invocation_id) if what == "rewind" else bool(stamps_of(event))


class DatabaseEvents:
    """The events of a session in the tables of ADK's `DatabaseSessionService`, which are only read.

    Places are compared by the database, as ADK sorts: it alone knows how it sorts ids.
    """

    def __init__(self, engine: AsyncEngine, session: Session) -> None:
        self._engine = engine.execution_options(read_only=True)
        self._is_its = and_(
            StorageEvent.app_name == session.app_name,
            StorageEvent.user_id == session.user_id,
            StorageEvent.session_id == session.id,
        )

    async def select(self, part: Part, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part."""
        order = (StorageEvent.timestamp, StorageEvent.id)
        statement = select(StorageEvent).where(self._is_its, *self._within(part)).limit(limit)
        statement = statement.order_by(*(column.desc() for column in order) if newest else order)
        async with AsyncSession(self._engine) as rows:
            return [row.to_event() for row in await rows.scalars(statement)]

    def _within(self, part: Part) -> list[ColumnElement[bool]]:
        conditions = []
        if part.after is not None:
            at = self._time_of(part.after)
            later = or_(StorageEvent.timestamp > at, StorageEvent.id > part.after.event_id)
            conditions += [StorageEvent.timestamp >= at, later]
        if part.until is not None:
            at = self._time_of(part.until)
            earlier = or_(StorageEvent.timestamp < at, StorageEvent.id <= part.until.event_id)
            conditions += [StorageEvent.timestamp <= at, earlier]
        if part.before is not None:
            at = self._time_of(part.before)
            earlier = or_(StorageEvent.timestamp < at, StorageEvent.id < part.before.event_id)
            conditions += [StorageEvent.timestamp <= at, earlier]
        if part.invocations is not None:
            conditions.append(StorageEvent.invocation_id.in_(part.invocations))
        if part.carrying is not None:
            conditions.append(cast(StorageEvent.event_data, Text).contains(_WORDS[part.carrying]))
        return conditions

    def _time_of(self, mark: Mark) -> ColumnElement[Any]:
        """Return a mark's time as it is stored, also where that is not what we would store."""
        stored = select(StorageEvent.timestamp).where(self._is_its, StorageEvent.id == mark.event_id)
        told = literal(timestamp_to_utc_datetime(mark.at), StorageEvent.timestamp.type)
        return func.coalesce(stored.scalar_subquery(), told)


class SqliteEvents:
    """The events of a session in the tables of ADK's `SqliteSessionService`, which are only read."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Any]], session: Session) -> None:
        self._connect = connect
        self._session = (session.app_name, session.user_id, session.id)

    async def select(self, part: Part, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part."""
        where = [_ITS]
        values: list[object] = [*self._session]
        for mark, compared, instead in ((part.after, ">", _LAST), (part.until, "<=", _LAST), (part.before, "<", 0)):
            if mark is not None:
                stored = f"SELECT {{}} FROM events WHERE {_ITS} AND id = ?"
                place = f"coalesce(({stored.format('timestamp')}), ?), coalesce(({stored.format('rowid')}), ?)"
                where.append(f"(timestamp, rowid) {compared} ({place})")
                values += [*self._session, mark.event_id, mark.at, *self._session, mark.event_id, instead]
        if part.invocations is not None:
            where.append(f"invocation_id IN ({', '.join('?' * len(part.invocations))})")
            values += part.invocations
        if part.carrying is not None:
            where.append("instr(event_data, ?)")
            values.append(_WORDS[part.carrying])
        order = "timestamp DESC, rowid DESC" if newest else "timestamp, rowid"
        # The places are sorted without what was said, which may be long.
        wanted = f"SELECT rowid FROM events WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
        statement = f"SELECT event_data FROM events WHERE rowid IN ({wanted}) ORDER BY {order}"
        async with self._connect() as connection:
            rows = await connection.execute_fetchall(statement, [*values, limit])
        return [Event.model_validate_json(row[0]) for row in rows]
