"""Which sessions of an app exist and when they changed, without loading their events.

ADK's own tables are read here without importing ADK; only `find_changed_sessions` needs it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import DateTime, String, column, literal, select, table

from gaia_memory.adk.evaluation_runs import is_evaluation_session
from gaia_memory.database.connections import open_connection
from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.models import SessionKey

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService
    from sqlalchemy.ext.asyncio import AsyncEngine


VERSION_TABLE = "adk_internal_metadata"
"""ADK's `DatabaseSessionService` creates it first; a database without it is not ADK's, or has no tables yet."""

_sessions = table(
    "sessions",
    column("app_name", String()),
    column("user_id", String()),
    column("id", String()),
    # Without a type the driver's value is returned: SQLite may store text or a number.
    column("update_time"),
)
_columns = _sessions.c


async def query_changed_sessions(engine: AsyncEngine, app: str, *, since: float | None) -> dict[SessionKey, float]:
    """Return when each session of an app was last changed, if at `since` or later (None: all), without evaluations."""
    statement = select(_columns.user_id, _columns.id, _columns.update_time).where(_columns.app_name == app)
    if since is not None:
        # ADK stores UTC without a time zone.
        at = datetime.fromtimestamp(since, UTC).replace(tzinfo=None)
        statement = statement.where(_columns.update_time >= literal(at, DateTime()))
    found: dict[SessionKey, float] = {}
    async with open_connection(engine) as raw_connection:
        connection = await raw_connection.execution_options(**{READ_ONLY_OPTION: True})
        async with connection.stream(statement) as rows:
            async for user, session, updated in rows:
                found[SessionKey(app, user, session)] = _to_epoch_seconds(updated)
    return _without_evaluations(found)


async def find_changed_sessions(
    service: BaseSessionService, app: str, *, since: float | None
) -> dict[SessionKey, float]:
    """Do the same as `query_changed_sessions` for any session service."""
    from gaia_memory.adk.sessions.adk_tables import engine_of_known_tables

    engine = await engine_of_known_tables(service, "list_sessions")
    if engine is not None:
        return await query_changed_sessions(engine, app, since=since)
    # This loads every session's state.
    listed = (await service.list_sessions(app_name=app)).sessions
    changed_at = {SessionKey(app, session.user_id, session.id): session.last_update_time for session in listed}
    return _without_evaluations({key: at for key, at in changed_at.items() if since is None or at >= since})


def _without_evaluations(sessions: dict[SessionKey, float]) -> dict[SessionKey, float]:
    return {key: at for key, at in sessions.items() if not is_evaluation_session(key.session)}


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
