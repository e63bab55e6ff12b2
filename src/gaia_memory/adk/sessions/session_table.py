"""The tables of sessions as ADK's present version makes them, only read, and without ADK."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import DateTime, String, column, literal, select, table

from gaia_memory.database.connections import connected
from gaia_memory.database.sqlite import READ_ONLY

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.models import SessionKey

VERSION_TABLE = "adk_internal_metadata"
"""ADK's `DatabaseSessionService` makes it first; a database without it is of another kind, or not made yet."""

EVAL_SESSIONS = ("adk-eval-session-", "___eval___session___")
"""How the ids of sessions begin in which ADK evaluated an agent, now and in older versions."""

Changes = dict[tuple[str, str], float]
"""When each session, by user and id, was changed last, in seconds since the epoch."""

_sessions = table(
    "sessions",
    column("app_name", String()),
    column("user_id", String()),
    column("id", String()),
    # Without a type it comes as the driver gives it: SQLite may hold text or a number.
    column("update_time"),
)
_its = _sessions.c


async def changed_in(engine: AsyncEngine, app: str, *, since: float | None) -> Changes:
    """Return the sessions of an app that were changed at `since` or later; None for all."""
    statement = select(_its.user_id, _its.id, _its.update_time).where(_its.app_name == app)
    if since is not None:
        # ADK keeps UTC without saying so.
        at = datetime.fromtimestamp(since, UTC).replace(tzinfo=None)
        statement = statement.where(_its.update_time >= literal(at, DateTime()))
    found: Changes = {}
    async with connected(engine) as plain:
        connection = await plain.execution_options(**{READ_ONLY: True})
        async with connection.stream(statement) as rows:
            async for user, session, changed in rows:
                found[user, session] = _seconds(changed)
    return found


async def is_held(engine: AsyncEngine, key: SessionKey) -> bool:
    """Say whether a session is there."""
    statement = select(literal(1)).where(_its.app_name == key.app, _its.user_id == key.user, _its.id == key.session)
    async with connected(engine) as plain:
        connection = await plain.execution_options(**{READ_ONLY: True})
        return (await connection.execute(statement)).first() is not None


def _seconds(changed: datetime | str | float) -> float:
    if isinstance(changed, int | float):
        return float(changed)
    at = datetime.fromisoformat(changed) if isinstance(changed, str) else changed
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
