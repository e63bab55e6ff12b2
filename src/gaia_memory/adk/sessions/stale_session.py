"""Updates a loaded session that was changed meanwhile in place, before ADK rejects an append to it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.sessions.session import Session

_PER_AGENT_SERVICE = "PerAgentDatabaseSessionService"
"""The default of `adk web`, over a `SqliteSessionService` per app. Importing its module loads a command line."""


def detects_stale(invocation: InvocationContext) -> bool:
    """Return True if the session service rejects an append to a session that changed since it was loaded."""
    service = invocation.session_service
    return (
        update_marker(invocation.session) is not None
        or isinstance(service, SqliteSessionService)
        or type(service).__name__ == _PER_AGENT_SERVICE
    )


def update_marker(session: Session) -> str | None:
    """Return ADK's marker of a loaded session's revision; None for services that only have the update time."""
    # The attribute is private and may not exist in every version of ADK.
    marker: str | None = getattr(session, "_storage_update_marker", None)
    return marker


def is_stale_error(error: Exception) -> bool:
    """Return True if an append was rejected because the session was changed or deleted."""
    # ADK's error for a session that changed meanwhile is a ValueError in a private module.
    return isinstance(error, SessionNotFoundError) or type(error).__name__ == "StaleSessionError"


async def reload_if_stale(invocation: InvocationContext, *, is_deleted: bool = False) -> None:
    """Reload the invocation's session if it got messages, or was cleared, since it was loaded.

    Otherwise ADK's next append would end the turn with a StaleSessionError. The session service decides whether it is
    stale, not the times: events have the host's clock, the ledger ours. With `is_deleted`, a session that was deleted
    by a clear is created again.
    """
    session = invocation.session
    stored = await _get_session(invocation, GetSessionConfig(num_recent_events=0))
    if stored is None and is_deleted:
        await _recreate_session(invocation)
    elif stored is None or _revision(stored) == _revision(session):
        return
    load_config = invocation.run_config.get_session_config if invocation.run_config else None
    fresh = await _get_session(invocation, load_config)
    if fresh is None:
        return
    session.events[:] = fresh.events
    session.state.update(fresh.state)
    session.last_update_time = fresh.last_update_time
    if update_marker(fresh) is not None:
        session._storage_update_marker = update_marker(fresh)


async def _recreate_session(invocation: InvocationContext) -> None:
    session = invocation.session
    # Another message may have created it meanwhile.
    with suppress(AlreadyExistsError):
        await invocation.session_service.create_session(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )


async def _get_session(invocation: InvocationContext, config: GetSessionConfig | None) -> Session | None:
    session = invocation.session
    return await invocation.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, config=config
    )


def _revision(session: Session) -> tuple[str | None, float]:
    return update_marker(session), session.last_update_time
