"""The configured session database: inspected without ADK, and opened with ADK when a session is needed.

Importing ADK takes most of a second and some 60 MB, which a program that only remembers and recalls does not need.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import DateTime, String, column, inspect, literal, select, table, text
from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.lazy_imports import load_module
from gaia_memory.database.connections import open_connection
from gaia_memory.database.read_only import database_path
from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import SessionKey
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

    from gaia_memory.engine import Engine


_VERSION_KEY = "schema_version"
_CURRENT_VERSION = "1"
_SESSIONS_TABLE = "sessions"

_CREATE_PRIVILEGE_QUERY = text(
    "SELECT has_schema_privilege(current_schema(), 'CREATE') AND NOT current_setting('transaction_read_only')::bool"
)


TableState = Literal["none", "unversioned", "current", "other", "foreign"]
"""The tables of a session database: none; sessions without ADK's version; those of ADK's current version, complete;
those of another version, or incomplete; or a version table that is not ADK's."""


VERSION_TABLE = "adk_internal_metadata"
"""ADK's `DatabaseSessionService` creates it first; a database without it is not ADK's, or has no tables yet."""

EVALUATION_SESSION_PREFIXES = ("adk-eval-session-", "___eval___session___")
"""The id prefixes of the sessions of ADK's evaluations, in its current and older versions: no sweep learns them."""

_sessions = table(
    "sessions",
    column("app_name", String()),
    column("user_id", String()),
    column("id", String()),
    # Without a type the driver's value is returned: SQLite may store text or a number.
    column("update_time"),
)
_columns = _sessions.c


class SessionDatabase:
    """The database of `sessions.database_url`: no table is created before `service` is used."""

    def __init__(self, engine: Engine) -> None:
        """Open nothing yet."""
        self._engine = engine
        self._has_current_tables = False

    @cached_property
    def service(self) -> DatabaseSessionService:
        """ADK's session service for it, which creates missing tables; this loads ADK."""
        from gaia_memory.adk.sessions.session_service import RaceSafeSessionService

        return RaceSafeSessionService(db_engine=self._engine.sessions_engine())

    @property
    def has_service(self) -> bool:
        """Whether the session service was created, and so ADK is loaded."""
        return "service" in self.__dict__

    async def load_service(self) -> DatabaseSessionService:
        """Return the session service; ADK is imported off the event loop."""
        await load_module("sessions.session_service")
        return self.service

    async def require_usable(self) -> None:
        """Check that sessions can be stored, as far as possible without changing the database.

        Raises:
            MemoryUnavailable: the session database cannot be opened, or is not a session database.
        """
        try:
            file = database_path(self._engine.config.sessions_url)
            if file is not None:
                await run_in_thread(_require_writable, file)
            tables = await self.tables()
            if tables == "foreign":
                raise ValueError
            if file is None and tables == "none":
                await self._require_create_privilege()
        except (ValueError, SQLAlchemyError, OSError) as error:
            reason = f"the session database does not answer ({type(error).__name__})"
            remedy = "check `sessions.database_url` and `home`; a damaged sessions.db must be moved away or restored"
            raise MemoryUnavailable(reason, remedy=remedy) from error

    async def tables(self) -> TableState:
        """Return which tables the database has; a missing file has none, and is not created."""
        if self._has_current_tables:
            # Complete tables are not dropped.
            return "current"
        file = database_path(self._engine.config.sessions_url)
        if file is not None and not await run_in_thread(file.exists):
            return "none"
        async with open_connection(self._engine.sessions_engine()) as raw_connection:
            connection = await raw_connection.execution_options(**{READ_ONLY_OPTION: True})
            found = await connection.run_sync(_inspect_tables)
        self._has_current_tables = found == "current"
        return found

    async def changed_sessions(self, app: str, *, since: float | None) -> dict[SessionKey, float] | None:
        """Return an app's sessions that were changed at `since` or later; None if only ADK can read them."""
        tables = await self.tables()
        if tables == "current":
            return await query_changed_sessions(self._engine.sessions_engine(), app, since=since)
        return {} if tables == "none" else None

    async def has_session(self, key: SessionKey) -> bool:
        """Return True if the database contains a session, in tables that ADK created."""
        tables = await self.tables()
        if tables == "current":
            return await session_exists(self._engine.sessions_engine(), key)
        if tables in ("none", "unversioned"):
            return False
        return await _service_has_session(await self.load_service(), key)

    async def _require_create_privilege(self) -> None:
        async with open_connection(self._engine.sessions_engine()) as connection:
            if not (await connection.execute(_CREATE_PRIVILEGE_QUERY)).scalar_one():
                raise PermissionError


async def _service_has_session(service: DatabaseSessionService, key: SessionKey) -> bool:
    from google.adk.sessions.base_session_service import GetSessionConfig

    newest = GetSessionConfig(num_recent_events=1)
    session_ids = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
    return await service.get_session(**session_ids, config=newest) is not None


def _require_writable(file: Path) -> None:
    """Check that a file can be written or created; create its folder."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise PermissionError


def _inspect_tables(connection: Connection) -> TableState:
    inspector = inspect(connection)
    has_sessions = inspector.has_table(_SESSIONS_TABLE)
    if not inspector.has_table(VERSION_TABLE):
        return "unversioned" if has_sessions else "none"
    rows = connection.execute(text(f"SELECT key, value FROM {VERSION_TABLE}"))
    versions = {str(key): str(value) for key, value in rows}
    if versions and _VERSION_KEY not in versions:
        return "foreign"
    return "current" if has_sessions and versions.get(_VERSION_KEY) == _CURRENT_VERSION else "other"


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
    return without_evaluations(found)


def without_evaluations(sessions: dict[SessionKey, float]) -> dict[SessionKey, float]:
    """Return the sessions that no evaluation of ADK's made."""
    return {key: at for key, at in sessions.items() if not key.session.startswith(EVALUATION_SESSION_PREFIXES)}


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
