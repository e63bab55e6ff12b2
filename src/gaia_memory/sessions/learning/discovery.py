"""Finds what a sweep may learn: the sessions of apps, those from before us, talk nobody counted, marks that ran out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import logger_for
from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.ports.ledger import SKEW_SECONDS
from gaia_memory.sessions.learning.async_iter import is_empty
from gaia_memory.sessions.transcript_registry import Transcripts
from gaia_memory.telemetry import about

logger = logger_for(__name__)

_ROUNDED = 1e-3
"""By how much the time of a session's last change may lie behind that of its last event: databases round them."""


class Discovery:
    """Prepares the ledger for the next look at what is due."""

    def __init__(self, database: Database, ledger: Ledger, transcripts: Transcripts, clock: Clock) -> None:
        self._database = database
        self._ledger = ledger
        self._transcripts = transcripts
        self._clock = clock
        self._changed: dict[tuple[str, int], dict[SessionKey, float]] = {}

    async def look_back(self) -> None:
        """Enter talk that no turn was counted for, such as while memory could not be reached.

        Whoever owed the turn may have ended before memory came back. The first look is at all sessions of an app,
        later ones at what was changed since.
        """
        if self._transcripts.looks_further:
            async with self._database.reading() as tx:
                known = await self._ledger.known_elsewhere(tx, apps=self._transcripts.apps)
            await self._transcripts.reach(known)
        self._transcripts.unread.clear()
        await self._for_each_app(self._look_back)

    async def look(self) -> None:
        """Find the sessions of apps, enter those from before us, and take back marks of turns and leases that ended."""
        await self._reach()
        await self._for_each_app(self._bootstrap)
        async with self._database.transaction() as tx:
            await self._ledger.expire(tx, now=self._clock.now().timestamp())

    async def _reach(self) -> None:
        """Find the sessions of apps that wait and have no host in this process."""
        if not self._transcripts.looks_further:
            return
        async with self._database.reading() as tx:
            waiting = await self._ledger.waiting_elsewhere(tx, apps=self._transcripts.apps)
        await self._transcripts.reach(waiting)

    async def _bootstrap(self, app: str) -> None:
        """Enter the sessions that were there before us, once an app."""
        async with self._database.reading() as tx:
            if await self._ledger.bootstrapped(tx, app):
                return
        sessions = await self._sessions(app)
        async with self._database.transaction() as tx:
            await self._ledger.bootstrap(tx, app, sessions)

    async def _look_back(self, app: str) -> None:
        async with self._database.reading() as tx:
            if not await self._ledger.bootstrapped(tx, app):
                return
        # With one more place to look at, all of them are looked at from the beginning.
        places = app, len(self._transcripts.of(app))
        before = self._changed.get(places, {})
        since = max(before.values()) - SKEW_SECONDS if before else None
        changed = await self._sessions(app, since=since)
        fresh = {key: at for key, at in changed.items() if before.get(key) != at}
        async with self._database.reading() as tx:
            rows = await self._ledger.rows_of(tx, fresh)
        for key, at in fresh.items():
            if _may_be_missed(rows.get(key), at) and await self._has_talk(key, rows.get(key)):
                async with self._database.transaction() as tx:
                    await self._ledger.enter(tx, key, touched=at)
        newest = max(changed.values(), default=0.0)
        self._changed[places] = {key: at for key, at in changed.items() if at >= newest - SKEW_SECONDS} or before

    async def _has_talk(self, key: SessionKey, row: LedgerRow | None) -> bool:
        after = row.watermark if row is not None else None
        talk, _ = await self._transcripts.read(key, after=after, turns_before=0)
        return talk is not None and not await is_empty(talk.turns)

    async def _sessions(self, app: str, *, since: float | None = None) -> dict[SessionKey, float]:
        sessions: dict[SessionKey, float] = {}
        for transcript in self._transcripts.of(app):
            sessions |= await transcript.sessions(since=since)
        return sessions

    async def _for_each_app(self, step: Callable[[str], Awaitable[None]]) -> None:
        for app in self._transcripts.apps:
            try:
                await step(app)
            except GaiaMemoryError:
                raise
            except Exception as error:
                # A host's session service that is away must not keep other apps from being learned.
                kind = self._transcripts.unread[app] = type(error).__name__
                fields = about("sessions.not_listed", app=app, error=kind)
                logger.error("the sessions of app %s cannot be listed yet: %s", app, kind, extra=fields)


def _may_be_missed(row: LedgerRow | None, changed: float) -> bool:
    """Say whether a session was changed after all that is known of it, and does not wait to be learned anyway."""
    if row is None:
        return True
    # A session that was deleted and is there was begun anew.
    rewound = row.cleared_at if row.rewound_at is not None else None
    seen = [row.watermark.at if row.watermark is not None else None, rewound, row.forgotten_at]
    return row.is_done and changed > max((at for at in seen if at is not None), default=0.0) + _ROUNDED
