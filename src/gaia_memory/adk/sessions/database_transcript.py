"""A transcript of the configured session database, which loads ADK only to read what somebody said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from gaia_memory.adk.lazy_imports import load
from gaia_memory.adk.sessions.session_database import SessionDatabase
from gaia_memory.adk.sessions.session_table import EVAL_SESSIONS
from gaia_memory.models import Mark, SessionKey, Talk, Turn

if TYPE_CHECKING:
    from gaia_memory.adk.sessions.transcript import SessionTranscript


class ConfiguredTranscript:
    """The `Transcript` of one app in the configured session database.

    A sweep that finds nothing to learn there goes without ADK: which sessions changed is asked of the table alone.
    """

    def __init__(
        self, database: SessionDatabase, app: str, *, clears_by: Literal["delete", "rewind"], is_whole: bool = True
    ) -> None:
        """Read and clear the sessions of `app`, as `SessionTranscript` does."""
        self.clears_by = clears_by
        self.is_whole = is_whole
        self.database = database
        self._app = app

    def __eq__(self, other: object) -> bool:
        """Say whether another transcript reads the same sessions, however it clears them."""
        if isinstance(other, ConfiguredTranscript):
            return (self.database, self._app) == (other.database, other._app)
        return self.database.is_served and self._with_adk() == other

    def __hash__(self) -> int:
        """Go by the app alone, as every transcript does."""
        return hash(self._app)

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return the sessions of the app changed at `since` or later, with when, but for those of evaluations."""
        found = await self.database.changed(self._app, since=since)
        if found is None:
            return await (await self._opened()).sessions(since=since)
        return {
            SessionKey(self._app, user, session): at
            for (user, session), at in found.items()
            if not session.startswith(EVAL_SESSIONS)
        }

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> Talk | None:
        """Return what was said after a mark; None when there is no such session."""
        if await self._is_empty():
            return None
        return await (await self._opened()).read(key, after=after, turns_before=turns_before)

    async def late(
        self, key: SessionKey, began: Mapping[str, float], *, after: Mark | None, turns_before: int
    ) -> tuple[Turn, ...] | None:
        """Return what was said in some invocations and reading on from a mark misses; None without a session."""
        if await self._is_empty():
            return None
        return await (await self._opened()).late(key, began, after=after, turns_before=turns_before)

    async def clear(self, talk: Talk, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; False, and nothing changed, when somebody spoke since."""
        return await (await self._opened()).clear(talk, how=how)

    async def _is_empty(self) -> bool:
        return not self.database.is_served and (await self.database.tables()).is_empty

    async def _opened(self) -> SessionTranscript:
        await self.database.served()
        await load("sessions.transcript")
        return self._with_adk()

    def _with_adk(self) -> SessionTranscript:
        from gaia_memory.adk.sessions.transcript import SessionTranscript

        return SessionTranscript(self.database.service, self._app, clears_by=self.clears_by, is_whole=self.is_whole)
