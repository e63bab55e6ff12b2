"""Sessions in the configured session database, whichever app and process they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.sessions.database_transcript import DatabaseTranscript
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from gaia_memory.adk.sessions.session_database import SessionDatabase
    from gaia_memory.models import SessionKey

logger = logger_for(__name__)


class DatabaseTranscriptFinder:
    """Finds the sessions of apps that have no Runner in this process, so that one sweep learns for all of them."""

    def __init__(self, database: SessionDatabase) -> None:
        self._database = database

    async def find_transcript(self, key: SessionKey) -> DatabaseTranscript | None:
        """Return a transcript over the configured session database when it holds this session."""
        try:
            if not await self._database.has_session(key):
                return None
        except (ValueError, SQLAlchemyError, OSError) as error:
            logger.info("the configured session database cannot be read for other apps: %s", type(error).__name__)
            return None
        # Turns of that app pass through a Runner that is not ours to know, and it may keep more sessions elsewhere.
        return DatabaseTranscript(self._database, key.app, clear_method="rewind", is_complete=False)
