"""Transcripts of the configured session database; ADK is loaded only to read messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.lazy_imports import load_module
from gaia_memory.adk.sessions.session_database import SessionDatabase
from gaia_memory.log import logger_for
from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice

if TYPE_CHECKING:
    from gaia_memory.adk.sessions.transcript import SessionTranscript

logger = logger_for(__name__)


class DatabaseTranscript:
    """The `Transcript` of one app in the configured session database.

    A sweep that finds nothing to learn does not load ADK: the table alone shows which sessions changed.
    """

    def __init__(
        self,
        database: SessionDatabase,
        app: str,
        *,
        clear_method: Literal["delete", "keep"],
        is_complete: bool = True,
    ) -> None:
        """Read and clear the sessions of `app`, as `SessionTranscript` does."""
        self.clear_method = clear_method
        self.is_complete = is_complete
        self.database = database
        self._app = app

    def __eq__(self, other: object) -> bool:
        """Return True if another transcript reads the same sessions, however it clears them."""
        if isinstance(other, DatabaseTranscript):
            return (self.database, self._app) == (other.database, other._app)
        return self.database.has_service and self._adk_transcript() == other

    def __hash__(self) -> int:
        """Hash the app alone, as every transcript does."""
        return hash(self._app)

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return when each session of the app was changed, if at `since` or later; evaluations are left out."""
        found = await self.database.changed_sessions(self._app, since=since)
        return found if found is not None else await (await self._open_transcript()).sessions(since=since)

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return the messages after a position; None if there is no such session."""
        if not self.database.has_service and await self.database.tables() == "none":
            return None
        return await (await self._open_transcript()).read(key, after=after, turns_before=turns_before)

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; return False, and change nothing, if there was a new message since."""
        return await (await self._open_transcript()).clear(conversation, how=how)

    async def _open_transcript(self) -> SessionTranscript:
        await self.database.load_service()
        await load_module("sessions.transcript")
        return self._adk_transcript()

    def _adk_transcript(self) -> SessionTranscript:
        from gaia_memory.adk.sessions.transcript import SessionTranscript

        return SessionTranscript(
            self.database.service, self._app, clear_method=self.clear_method, is_complete=self.is_complete
        )


async def find_transcript(database: SessionDatabase, key: SessionKey) -> DatabaseTranscript | None:
    """Return a transcript for an app without a Runner in this process; None if `database` has no such session."""
    try:
        if not await database.has_session(key):
            return None
    except (ValueError, SQLAlchemyError, OSError) as error:
        logger.info("the configured session database cannot be read for other apps: %s", type(error).__name__)
        return None
    # The app's turns run in an unknown Runner, which may keep other sessions elsewhere.
    return DatabaseTranscript(database, key.app, clear_method="keep", is_complete=False)
