"""A session is deleted only as it was read: ADK's own `delete_session` compares nothing, and a word would be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy import and_, delete, select

from gaia_memory.adk.sessions.event_pages import is_known, service_behind
from gaia_memory.adk.sessions.stale_session import marker_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session
    from sqlalchemy.ext.asyncio import AsyncEngine


async def delete_unchanged(service: BaseSessionService, session: Session) -> bool:
    """Delete a session with its events; False, and nothing deleted, where it changed since it was loaded.

    A service whose tables are not known here is asked to delete it, whatever it holds by then.
    """
    service = await service_behind(service, session.app_name)
    if (
        isinstance(service, DatabaseSessionService)
        and is_known(service)
        and _deletes_as(service, DatabaseSessionService)
        and marker_of(session) is not None
    ):
        await service.prepare_tables()
        return await _delete_from(service.db_engine, session)
    connect = getattr(service, "_get_db_connection", None)
    if isinstance(service, SqliteSessionService) and _deletes_as(service, SqliteSessionService) and connect is not None:
        return await _delete_from_file(connect, session)
    await service.delete_session(app_name=session.app_name, user_id=session.user_id, session_id=session.id)
    return True


def _deletes_as(service: BaseSessionService, kind: type[BaseSessionService]) -> bool:
    return getattr(service.delete_session, "__func__", None) is kind.delete_session


async def _delete_from(engine: AsyncEngine, session: Session) -> bool:
    its = and_(
        StorageSession.app_name == session.app_name,
        StorageSession.user_id == session.user_id,
        StorageSession.id == session.id,
    )
    its_events = and_(
        StorageEvent.app_name == session.app_name,
        StorageEvent.user_id == session.user_id,
        StorageEvent.session_id == session.id,
    )
    async with engine.begin() as connection:
        changed = (await connection.execute(select(StorageSession.update_time).where(its))).scalar_one_or_none()
        if changed is None:
            return True
        if StorageSession(update_time=changed).get_update_marker() != marker_of(session):
            return False
        # What is read does not lock: whoever spoke since then is found by the condition.
        deleted = await connection.execute(delete(StorageSession).where(its, StorageSession.update_time == changed))
        if deleted.rowcount:
            await connection.execute(delete(StorageEvent).where(its_events))
    return bool(deleted.rowcount)


async def _delete_from_file(connect: Callable[[], AbstractAsyncContextManager[Any]], session: Session) -> bool:
    its = "app_name = ? AND user_id = ? AND id = ?"
    values = (session.app_name, session.user_id, session.id)
    async with connect() as connection:
        statement = f"DELETE FROM sessions WHERE {its} AND update_time = ?"
        cursor = await connection.execute(statement, (*values, session.last_update_time))
        deleted = cursor.rowcount
        left = await connection.execute_fetchall(f"SELECT 1 FROM sessions WHERE {its}", values)
        await connection.commit()
    return bool(deleted) or not left
