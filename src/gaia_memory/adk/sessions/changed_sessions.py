"""Which sessions of an app were changed since a time, asked without loading what was said in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.sessions.database_session_service import DatabaseSessionService

from gaia_memory.adk.sessions.event_pages import has_current_schema, unwrap_service
from gaia_memory.adk.sessions.session_table import SessionChanges, query_changed_sessions

if TYPE_CHECKING:
    from google.adk.sessions.base_session_service import BaseSessionService


async def find_changed_sessions(service: BaseSessionService, app: str, *, since: float | None) -> SessionChanges:
    """Return the sessions of an app that were changed at `since` or later; None for all."""
    service = await unwrap_service(service, app)
    list_method = getattr(service.list_sessions, "__func__", None)
    if isinstance(service, DatabaseSessionService) and list_method is DatabaseSessionService.list_sessions:
        await service.prepare_tables()
        if has_current_schema(service):
            return await query_changed_sessions(service.db_engine, app, since=since)
    # It loads every session's state.
    listed = (await service.list_sessions(app_name=app)).sessions
    found = {(session.user_id, session.id): session.last_update_time for session in listed}
    return {session: at for session, at in found.items() if since is None or at >= since}
