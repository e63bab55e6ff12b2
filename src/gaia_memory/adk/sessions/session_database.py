"""The configured session database: inspected without ADK, and opened with ADK when a session is needed.

Importing ADK takes most of a second and some 60 MB, which a program that only remembers and recalls does not need.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.lazy_imports import load_module
from gaia_memory.adk.sessions.changed_sessions import (
    VERSION_TABLE,
    query_changed_sessions,
    session_exists,
)
from gaia_memory.database.connections import open_connection
from gaia_memory.database.read_only import database_path
from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from sqlalchemy import Connection

    from gaia_memory.engine import Engine
    from gaia_memory.models import SessionKey

_VERSION_KEY = "schema_version"
_CURRENT_VERSION = "1"
_SESSIONS_TABLE = "sessions"

_CREATE_PRIVILEGE_QUERY = text(
    "SELECT has_schema_privilege(current_schema(), 'CREATE') AND NOT current_setting('transaction_read_only')::bool"
)


TableState = Literal["none", "unversioned", "current", "other", "foreign"]
"""The tables of a session database: none; sessions without ADK's version; those of ADK's current version, complete;
those of another version, or incomplete; or a version table that is not ADK's."""


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
