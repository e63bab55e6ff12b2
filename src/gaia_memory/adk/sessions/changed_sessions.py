"""Which sessions of an app exist and when they changed, without loading their events.

ADK's own tables are read here without importing ADK; only `find_changed_sessions` needs it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import DateTime, String, column, literal, select, table

from gaia_memory.database.connections import open_connection
from gaia_memory.database.sqlite import READ_ONLY_OPTION

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.models import SessionKey

VERSION_TABLE = "adk_internal_metadata"
"""ADK's `DatabaseSessionService` creates it first; a database without it is not ADK's, or has no tables yet."""

EVAL_SESSION_PREFIXES = ("adk-eval-session-", "___eval___session___")
"""The id prefixes of ADK's evaluation sessions, in its current and older versions."""

SessionChanges = dict[tuple[str, str], float]
"""The time of the last change of each session, by user and id, in seconds since the epoch."""

_sessions = table(
    "sessions",
    column("app_name", String()),
    column("user_id", String()),
    column("id", String()),
    # Without a type the driver's value is returned: SQLite may store text or a number.
    column("update_time"),
)
_columns = _sessions.c


async def query_changed_sessions(engine: AsyncEngine, app: str, *, since: float | None) -> SessionChanges:
    """Return the sessions of an app that were changed at `since` or later; None for all."""
    statement = select(_columns.user_id, _columns.id, _columns.update_time).where(_columns.app_name == app)
    if since is not None:
        # ADK stores UTC without a time zone.
        at = datetime.fromtimestamp(since, UTC).replace(tzinfo=None)
        statement = statement.where(_columns.update_time >= literal(at, DateTime()))
    found: SessionChanges = {}
    async with open_connection(engine) as raw_connection:
        connection = await raw_connection.execution_options(**{READ_ONLY_OPTION: True})
        async with connection.stream(statement) as rows:
            async for user, session, updated in rows:
                found[user, session] = _to_epoch_seconds(updated)
    return found


async def find_changed_sessions(service: BaseSessionService, app: str, *, since: float | None) -> SessionChanges:
    """Return the sessions of an app that were changed at `since` or later; None for all."""
    from google.adk.sessions.database_session_service import DatabaseSessionService

    from gaia_memory.adk.sessions.event_pages import has_current_schema, unwrap_service

    service = await unwrap_service(service, app)
    list_method = getattr(service.list_sessions, "__func__", None)
    if isinstance(service, DatabaseSessionService) and list_method is DatabaseSessionService.list_sessions:
        await service.prepare_tables()
        if has_current_schema(service):
            return await query_changed_sessions(service.db_engine, app, since=since)
    # This loads every session's state.
    listed = (await service.list_sessions(app_name=app)).sessions
    found = {(session.user_id, session.id): session.last_update_time for session in listed}
    return {session: at for session, at in found.items() if since is None or at >= since}


async def session_exists(engine: AsyncEngine, key: SessionKey) -> bool:
    """Return True if a session exists."""
    statement = select(literal(1)).where(
        _columns.app_name == key.app, _columns.user_id == key.user, _columns.id == key.session
    )
    async with open_connection(engine) as raw_connection:
        connection = await raw_connection.execution_options(**{READ_ONLY_OPTION: True})
        return (await connection.execute(statement)).first() is not None


def _to_epoch_seconds(updated: datetime | str | float) -> float:
    if isinstance(updated, int | float):
        return float(updated)
    at = datetime.fromisoformat(updated) if isinstance(updated, str) else updated
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
