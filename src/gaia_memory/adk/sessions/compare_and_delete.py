"""Deletes a session only if it is unchanged: ADK's `delete_session` does not compare and would lose new messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy import and_, delete, select

from gaia_memory.adk.sessions.event_pages import has_current_schema, unwrap_service
from gaia_memory.adk.sessions.stale_session import update_marker

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine


async def delete_if_unchanged(service: BaseSessionService, session: Session) -> bool:
    """Delete a session with its events; return False, and delete nothing, if it changed since it was loaded.

    A service with unknown tables deletes it unconditionally.
    """
    service = await unwrap_service(service, session.app_name)
    if (
        isinstance(service, DatabaseSessionService)
        and has_current_schema(service)
        and _uses_delete_of(service, DatabaseSessionService)
        and update_marker(session) is not None
    ):
        await service.prepare_tables()
        return await _delete_from_database(service.db_engine, session)
    connect = getattr(service, "_get_db_connection", None)
    if (
        isinstance(service, SqliteSessionService)
        and _uses_delete_of(service, SqliteSessionService)
        and connect is not None
    ):
        return await _delete_from_sqlite(connect, session)
    await service.delete_session(app_name=session.app_name, user_id=session.user_id, session_id=session.id)
    return True


def _uses_delete_of(service: BaseSessionService, kind: type[BaseSessionService]) -> bool:
    return getattr(service.delete_session, "__func__", None) is kind.delete_session


async def _delete_from_database(engine: AsyncEngine, session: Session) -> bool:
    session_filter = and_(
        StorageSession.app_name == session.app_name,
        StorageSession.user_id == session.user_id,
        StorageSession.id == session.id,
    )
    event_filter = and_(
        StorageEvent.app_name == session.app_name,
        StorageEvent.user_id == session.user_id,
        StorageEvent.session_id == session.id,
    )
    async with engine.begin() as connection:
        stored_update_time = (
            await connection.execute(select(StorageSession.update_time).where(session_filter))
        ).scalar_one_or_none()
        if stored_update_time is None:
            return True
        if StorageSession(update_time=stored_update_time).get_update_marker() != update_marker(session):
            return False
        # Reading takes no lock: the condition finds a change since then.
        deleted = await connection.execute(
            delete(StorageSession).where(session_filter, StorageSession.update_time == stored_update_time)
        )
        if deleted.rowcount:
            await connection.execute(delete(StorageEvent).where(event_filter))
    return bool(deleted.rowcount)


async def _delete_from_sqlite(connect: Callable[[], AbstractAsyncContextManager[Any]], session: Session) -> bool:
    session_filter = "app_name = ? AND user_id = ? AND id = ?"
    values = (session.app_name, session.user_id, session.id)
    async with connect() as connection:
        statement = f"DELETE FROM sessions WHERE {session_filter} AND update_time = ?"
        cursor = await connection.execute(statement, (*values, session.last_update_time))
        deleted = cursor.rowcount
        remaining = await connection.execute_fetchall(f"SELECT 1 FROM sessions WHERE {session_filter}", values)
        await connection.commit()
    return bool(deleted) or not remaining
