"""The tables of ADK's `DatabaseSessionService`, where its own methods read or delete too much."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.shared import timestamp_to_utc_datetime
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from sqlalchemy import ColumnElement, Text, and_, cast, delete, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from gaia_memory.adk.sessions.stale_session import update_marker

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.adk.sessions.event_pages import EventMarker, EventRange
    from gaia_memory.models import EventPosition

_MARKER_TEXTS: dict[EventMarker, str] = {"rewind": "rewind_before_invocation_id", "stamp": "gaia:"}
"""The text that every stored event with the mark contains; other events may contain it too."""

_DIALECTS = ("sqlite", "postgresql")


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
            conditions.append(cast(StorageEvent.event_data, Text).contains(_MARKER_TEXTS[event_range.carrying]))
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
