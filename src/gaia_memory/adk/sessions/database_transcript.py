"""Transcripts of the configured session database; ADK is loaded only to read messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from sqlalchemy.exc import SQLAlchemyError

from gaia_memory.adk.lazy_imports import load_module
from gaia_memory.adk.sessions.changed_sessions import EVAL_SESSION_PREFIXES
from gaia_memory.adk.sessions.session_database import SessionDatabase
from gaia_memory.log import logger_for
from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice, Turn

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
        clear_method: Literal["delete", "rewind"],
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
        if found is None:
            return await (await self._open_transcript()).sessions(since=since)
        return {
            SessionKey(self._app, user, session): at
            for (user, session), at in found.items()
            if not session.startswith(EVAL_SESSION_PREFIXES)
        }

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return the messages after a position; None if there is no such session."""
        if await self._is_empty():
            return None
        return await (await self._open_transcript()).read(key, after=after, turns_before=turns_before)

    async def read_out_of_order(
        self, key: SessionKey, started_at: Mapping[str, float], *, after: EventPosition | None, turns_before: int
    ) -> tuple[Turn, ...] | None:
        """Return the turns of these invocations that reading from `after` misses; None if there is no such session."""
        if await self._is_empty():
            return None
        return await (await self._open_transcript()).read_out_of_order(
            key, started_at, after=after, turns_before=turns_before
        )

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; return False, and change nothing, if there was a new message since."""
        return await (await self._open_transcript()).clear(conversation, how=how)

    async def _is_empty(self) -> bool:
        return not self.database.has_service and (await self.database.tables()).is_empty

    async def _open_transcript(self) -> SessionTranscript:
        await self.database.load_service()
        await load_module("sessions.transcript")
        return self._adk_transcript()

    def _adk_transcript(self) -> SessionTranscript:
        from gaia_memory.adk.sessions.transcript import SessionTranscript

        return SessionTranscript(
            self.database.service, self._app, clear_method=self.clear_method, is_complete=self.is_complete
        )


class DatabaseTranscriptFinder:
    """Finds the sessions of apps without a Runner in this process, so that one sweep learns for all apps."""

    def __init__(self, database: SessionDatabase) -> None:
        self._database = database

    async def find_transcript(self, key: SessionKey) -> DatabaseTranscript | None:
        """Return a transcript over the configured session database if this session is in it; None otherwise."""
        try:
            if not await self._database.has_session(key):
                return None
        except (ValueError, SQLAlchemyError, OSError) as error:
            logger.info("the configured session database cannot be read for other apps: %s", type(error).__name__)
            return None
        # The app's turns run in an unknown Runner, which may keep other sessions elsewhere.
        return DatabaseTranscript(self._database, key.app, clear_method="rewind", is_complete=False)
