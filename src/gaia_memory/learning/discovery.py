"""Finds work for a sweep: known sessions, sessions older than the ledger, unrecorded turns, expired marks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gaia_memory.errors import GaiaMemoryError
from gaia_memory.learning.async_iter import is_empty
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.models.quiet_conversations import MAX_CLOCK_SKEW_SECONDS
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.transcript_registry import TranscriptRegistry

logger = logger_for(__name__)

_TIMESTAMP_ROUNDING_SECONDS = 1e-3
"""How far the time of a session's last change may be behind that of its last event: databases round them."""

_MAX_EXAMINED_SESSIONS = 200
"""The newest sessions whose events are read before they are entered: to read all that an app ever had takes long."""


class Discovery:
    """Prepares the ledger for the next query of due conversations."""

    def __init__(self, client: LedgerClient, transcripts: TranscriptRegistry) -> None:
        self._client = client
        self._transcripts = transcripts
        self._changed_at: dict[tuple[str, int], dict[SessionKey, float]] = {}
        self._deferred: dict[str, dict[SessionKey, float]] = {}

    async def find_unrecorded(self) -> None:
        """Enter sessions with messages for which no turn was counted, such as while memory could not be reached.

        The process that should have counted them may have ended. The first call reads all sessions of an app, later
        calls only those changed since.
        """
        if self._transcripts.has_fallback:
            async with self._client.database.read_transaction() as tx:
                known = await self._client.ledger.sessions_of_other_apps(tx, apps=self._transcripts.apps)
            await self._transcripts.resolve(known)
        self._transcripts.listing_errors.clear()
        await self._for_each_app(self._find_unrecorded_in_app)

    async def refresh(self) -> None:
        """Find the sessions of apps, enter those older than the ledger, and remove expired marks."""
        await self._attach_waiting_apps()
        await self._for_each_app(self._bootstrap)
        async with self._client.database.transaction() as tx:
            await self._client.ledger.expire(tx, now=self._client.now())

    async def _attach_waiting_apps(self) -> None:
        """Find the sessions of apps with due conversations and no host in this process."""
        if not self._transcripts.has_fallback:
            return
        async with self._client.database.read_transaction() as tx:
            waiting = await self._client.ledger.sessions_waiting_in_other_apps(tx, apps=self._transcripts.apps)
        await self._transcripts.resolve(waiting)

    async def _bootstrap(self, app: str) -> None:
        """Enter the sessions older than the ledger, once per app, but no new one that contains only commands."""
        async with self._client.database.read_transaction() as tx:
            if await self._client.ledger.is_bootstrapped(tx, app):
                return
        sessions = await self._sessions(app)
        newest = sorted(sessions, key=sessions.__getitem__, reverse=True)[:_MAX_EXAMINED_SESSIONS]
        without_turns = [key for key in newest if not await self._has_unlearned_turns(key, None)]
        entered = {key: at for key, at in sessions.items() if key not in without_turns}
        async with self._client.database.transaction() as tx:
            await self._client.ledger.bootstrap(tx, app, entered)

    async def _find_unrecorded_in_app(self, app: str) -> None:
        async with self._client.database.read_transaction() as tx:
            if not await self._client.ledger.is_bootstrapped(tx, app):
                return
        # A new transcript makes the next search start from the beginning.
        cache_key = app, len(self._transcripts.for_app(app))
        previous = self._changed_at.get(cache_key, {})
        since = max(previous.values()) - MAX_CLOCK_SKEW_SECONDS if previous else None
        changed = await self._sessions(app, since=since)
        newly_changed = {key: at for key, at in changed.items() if previous.get(key) != at}
        newly_changed = self._deferred.get(app, {}) | newly_changed
        deferred: dict[SessionKey, float] = {}
        async with self._client.database.read_transaction() as tx:
            rows = await self._client.ledger.rows_for(tx, newly_changed)
        for key, at in newly_changed.items():
            if _may_have_unrecorded_turns(rows.get(key), at) and await self._has_unlearned_turns(key, rows.get(key)):
                async with self._client.database.transaction() as tx:
                    if not await self._client.ledger.enqueue(tx, key, touched=at):
                        # A turn holds the conversation, and the session may never change again.
                        deferred[key] = at
        self._deferred[app] = deferred
        newest = max(changed.values(), default=0.0)
        self._changed_at[cache_key] = {
            key: at for key, at in changed.items() if at >= newest - MAX_CLOCK_SKEW_SECONDS
        } or previous

    async def _has_unlearned_turns(self, key: SessionKey, row: LedgerRow | None) -> bool:
        after = row.progress.watermark if row is not None else None
        transcript_slice, _ = await self._transcripts.read(key, after=after, turns_before=0)
        return transcript_slice is not None and not await is_empty(transcript_slice.turns)

    async def _sessions(self, app: str, *, since: float | None = None) -> dict[SessionKey, float]:
        sessions: dict[SessionKey, float] = {}
        for transcript in self._transcripts.for_app(app):
            sessions |= await transcript.sessions(since=since)
        return sessions

    async def _for_each_app(self, step: Callable[[str], Awaitable[None]]) -> None:
        for app in self._transcripts.apps:
            try:
                await step(app)
            except GaiaMemoryError:
                raise
            except Exception as error:
                # An unavailable session service of one app must not stop the learning of other apps.
                error_type = self._transcripts.listing_errors[app] = type(error).__name__
                fields = log_fields("sessions.not_listed", app=app, error=error_type)
                logger.error("the sessions of app %s cannot be listed yet: %s", app, error_type, extra=fields)


def _may_have_unrecorded_turns(row: LedgerRow | None, changed_at: float) -> bool:
    """Return True if a session changed after everything the ledger knows about it, and is not due already."""
    if row is None:
        return True
    # A session that was deleted and exists was started again.
    rewound_until = row.clearing.cleared_at if row.clearing.rewound_at is not None else None
    known_times = [
        row.progress.watermark.timestamp if row.progress.watermark is not None else None,
        rewound_until,
        row.progress.forgotten_at,
    ]
    return (
        row.progress.is_done
        and changed_at > max((at for at in known_times if at is not None), default=0.0) + _TIMESTAMP_ROUNDING_SECONDS
    )
