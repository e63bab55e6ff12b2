"""The configured session database, looked at without ADK, and opened with it once a session is wanted.

Importing ADK costs most of a second and some 60 MB, which a program that only remembers and recalls need not pay.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text
from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.lazy_imports import load
from gaia_memory.adk.sessions.session_table import VERSION_TABLE, Changes, changed_in, is_held
from gaia_memory.database.connections import connected
from gaia_memory.database.read_only import file_of
from gaia_memory.database.sqlite import READ_ONLY
from gaia_memory.errors import MemoryUnavailable

if TYPE_CHECKING:
    from google.adk.sessions.database_session_service import DatabaseSessionService
    from sqlalchemy import Connection

    from gaia_memory.engine import Engine
    from gaia_memory.models import SessionKey

_VERSION = "schema_version"
_PRESENT = "1"
_SESSIONS = "sessions"

_MAY_MAKE_TABLES = text(
    "SELECT has_schema_privilege(current_schema(), 'CREATE') AND NOT current_setting('transaction_read_only')::bool"
)


@dataclass(frozen=True, slots=True)
class Tables:
    """What stands in a session database; `noted` is what ADK noted about it, None without its table for that."""

    noted: Mapping[str, str] | None = None
    has_sessions: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of ADK's, and so no session."""
        return self.noted is None and not self.has_sessions

    @property
    def is_known(self) -> bool:
        """Whether the tables are those of ADK's present version, and all there."""
        return self.has_sessions and self.noted is not None and self.noted.get(_VERSION) == _PRESENT


class SessionDatabase:
    """The database of `sessions.database_url`: nothing is made in it before `service` is used."""

    def __init__(self, engine: Engine) -> None:
        """Open nothing yet."""
        self._engine = engine
        self._known: Tables | None = None

    @cached_property
    def service(self) -> DatabaseSessionService:
        """ADK's session service over it, which makes the tables that are missing; loads ADK."""
        from gaia_memory.adk.sessions.session_service import PreparedSessions

        return PreparedSessions(db_engine=self._engine.sessions_engine())

    @property
    def is_served(self) -> bool:
        """Whether the session service was made, and so ADK is loaded."""
        return "service" in self.__dict__

    async def served(self) -> DatabaseSessionService:
        """Return the session service, with ADK imported beside the event loop."""
        await load("sessions.session_service")
        return self.service

    async def require_usable(self) -> None:
        """Return only where sessions can be kept, as far as that can be seen without changing anything.

        Raises:
            MemoryUnavailable: the session database cannot be opened, or is none.
        """
        try:
            file = file_of(self._engine.config.sessions_url)
            if file is not None:
                await asyncio.to_thread(_require_place, file)
            tables = await self.tables()
            if tables.noted and _VERSION not in tables.noted:
                raise ValueError
            if file is None and tables.is_empty:
                await self._require_rights()
        except (ValueError, SQLAlchemyError, OSError) as error:
            reason = f"the session database does not answer ({type(error).__name__})"
            remedy = "check `sessions.database_url` and `home`; a damaged sessions.db must be moved away or restored"
            raise MemoryUnavailable(reason, remedy=remedy) from error

    async def tables(self) -> Tables:
        """Return what stands in it; a file that is not there holds nothing, and is not made."""
        if self._known is not None:
            return self._known
        file = file_of(self._engine.config.sessions_url)
        if file is not None and not await asyncio.to_thread(file.exists):
            return Tables()
        async with connected(self._engine.sessions_engine()) as plain:
            connection = await plain.execution_options(**{READ_ONLY: True})
            found = await connection.run_sync(_look)
        if found.is_known:
            # Nobody takes them away again.
            self._known = found
        return found

    async def changed(self, app: str, *, since: float | None) -> Changes | None:
        """Return an app's sessions that were changed at `since` or later; None where only ADK knows how to read it."""
        tables = await self.tables()
        if tables.is_known:
            return await changed_in(self._engine.sessions_engine(), app, since=since)
        return {} if tables.is_empty else None

    async def holds(self, key: SessionKey) -> bool:
        """Say whether it holds a session, in tables that ADK made."""
        tables = await self.tables()
        if tables.is_known:
            return await is_held(self._engine.sessions_engine(), key)
        if tables.noted is None:
            return False
        return await _holds(await self.served(), key)

    async def _require_rights(self) -> None:
        async with connected(self._engine.sessions_engine()) as connection:
            if not (await connection.execute(_MAY_MAKE_TABLES)).scalar_one():
                raise PermissionError


async def _holds(service: DatabaseSessionService, key: SessionKey) -> bool:
    from google.adk.sessions.base_session_service import GetSessionConfig

    newest = GetSessionConfig(num_recent_events=1)
    its = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
    return await service.get_session(**its, config=newest) is not None


def _require_place(file: Path) -> None:
    """Return only where a file can be written, or made; its folder is made here."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise PermissionError


def _look(connection: Connection) -> Tables:
    inspector = inspect(connection)
    noted = None
    if inspector.has_table(VERSION_TABLE):
        rows = connection.execute(text(f"SELECT key, value FROM {VERSION_TABLE}"))
        noted = {str(key): str(value) for key, value in rows}
    return Tables(noted, inspector.has_table(_SESSIONS))
