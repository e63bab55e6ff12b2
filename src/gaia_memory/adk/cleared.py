"""A session that was loaded just before somebody cleared it is brought up to date in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.sessions.base_session_service import GetSessionConfig

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.sessions.session import Session

    from gaia_memory.models import LedgerRow


async def reload_if_cleared(invocation: InvocationContext, row: LedgerRow | None) -> None:
    """Load the invocation's session again where a clear made it stale.

    ADK's next append would end the turn with a StaleSessionError. Whether it is stale is asked of the session
    service, not of the times: events carry the host's clock, the ledger ours.
    """
    if row is None or row.cleared_at is None:
        return
    session = invocation.session
    stored = await _get(invocation, GetSessionConfig(num_recent_events=0))
    if stored is None or _revision(stored) == _revision(session):
        return
    wanted = invocation.run_config.get_session_config if invocation.run_config else None
    fresh = await _get(invocation, wanted)
    if fresh is None:
        return
    session.events[:] = fresh.events
    session.state.update(fresh.state)
    session.last_update_time = fresh.last_update_time
    session._storage_update_marker = fresh._storage_update_marker


async def _get(invocation: InvocationContext, config: GetSessionConfig | None) -> Session | None:
    session = invocation.session
    return await invocation.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, config=config
    )


def _revision(session: Session) -> tuple[str | None, float]:
    # The marker is ADK's own and private; services without one have the time alone.
    return session._storage_update_marker, session.last_update_time
