"""Sessions in the configured session database, whichever app and process they belong to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.session_database import VERSION_TABLE
from gaia_memory.adk.transcript import SessionTranscript
from gaia_memory.database.connections import connected
from gaia_memory.database.look import file_of
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from gaia_memory.engine import Engine
    from gaia_memory.models import SessionKey

logger = logger_for(__name__)


class ConfiguredSessions:
    """Finds the sessions of apps that have no Runner in this process, so that one sweep learns for all of them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._service: DatabaseSessionService | None = None

    async def find(self, key: SessionKey) -> SessionTranscript | None:
        """Return a transcript over the configured session database when it holds this session."""
        try:
            service = await self._opened()
            if service is None:
                return None
            session = await service.get_session(
                app_name=key.app,
                user_id=key.user,
                session_id=key.session,
                config=GetSessionConfig(num_recent_events=1),
            )
        except (ValueError, SQLAlchemyError, OSError) as error:
            logger.info("the configured session database cannot be read for other apps: %s", type(error).__name__)
            return None
        if session is None:
            return None
        # Turns of that app pass through a Runner that is not ours to know, and it may keep more sessions elsewhere.
        return SessionTranscript(service, key.app, clears_by="rewind", is_whole=False)

    async def _opened(self) -> DatabaseSessionService | None:
        """Return the session service, None while there is no such database: it is not made here."""
        if self._service is None:
            file = file_of(self._engine.config.sessions_url)
            if file is not None and not await asyncio.to_thread(file.is_file):
                return None
            engine = self._engine.sessions_engine()
            async with connected(engine) as connection:
                if not await connection.run_sync(_is_adks):
                    return None
            self._service = DatabaseSessionService(db_engine=engine)
        return self._service


def _is_adks(connection: Connection) -> bool:
    return inspect(connection).has_table(VERSION_TABLE)
