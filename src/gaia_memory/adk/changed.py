"""Which sessions of an app were changed since a time, asked without loading what was said in them."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.shared import timestamp_to_utc_datetime
from google.adk.sessions.schemas.v1 import StorageSession
from sqlalchemy import literal, select

from gaia_memory.adk.stored_events import is_known, service_behind

if TYPE_CHECKING:
    from datetime import datetime

    from google.adk.sessions.base_session_service import BaseSessionService

Changes = dict[tuple[str, str], float]
"""When each session, by user and id, was changed last, in seconds since the epoch."""


async def changed_sessions(service: BaseSessionService, app: str, *, since: float | None) -> Changes:
    """Return the sessions of an app that were changed at `since` or later; None for all."""
    service = await service_behind(service, app)
    lists = getattr(service.list_sessions, "__func__", None)
    if isinstance(service, DatabaseSessionService) and lists is DatabaseSessionService.list_sessions:
        await service.prepare_tables()
        if is_known(service):
            return await _stored(service, app, since)
    # It loads every session's state.
    listed = (await service.list_sessions(app_name=app)).sessions
    found = {(session.user_id, session.id): session.last_update_time for session in listed}
    return {session: at for session, at in found.items() if since is None or at >= since}


async def _stored(service: DatabaseSessionService, app: str, since: float | None) -> Changes:
    changed = StorageSession.update_time
    statement = select(StorageSession.user_id, StorageSession.id, changed).where(StorageSession.app_name == app)
    if since is not None:
        statement = statement.where(changed >= literal(timestamp_to_utc_datetime(since), changed.type))
    found: Changes = {}
    engine = service.db_engine.execution_options(read_only=True)
    async with engine.connect() as connection, connection.stream(statement) as rows:
        async for user, session, at in rows:
            found[user, session] = _seconds(at)
    return found


def _seconds(at: datetime) -> float:
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
