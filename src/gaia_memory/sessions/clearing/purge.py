"""Deletes sessions some time after they were cleared by a rewind, which only hides their messages."""

from __future__ import annotations

from gaia_memory.log import logger_for
from gaia_memory.models import SessionKey
from gaia_memory.sessions.clearing.clear import SessionClearer
from gaia_memory.sessions.learning.conversation_lease import ConversationLeases
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.transcript_registry import TranscriptRegistry
from gaia_memory.sessions.turns.session_locks import SessionLocks
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

MAX_SESSIONS_PER_PURGE = 50
"""The most sessions that one sweep deletes: deleting must not delay learning."""


class SessionPurger:
    """Deletes sessions that were cleared long ago and had no message since."""

    def __init__(
        self,
        client: LedgerClient,
        transcripts: TranscriptRegistry,
        locks: SessionLocks,
    ) -> None:
        self._client = client
        self._transcripts = transcripts
        self._leases = ConversationLeases(client)
        self._clearer = SessionClearer(client, locks)

    async def purge_expired(self, *, retain_seconds: float) -> int:
        """Delete sessions cleared more than `retain_seconds` ago, oldest first; return how many were deleted."""
        cutoff = self._client.now() - retain_seconds
        async with self._client.database.read_transaction() as tx:
            rows = await self._client.ledger.find_purgeable(
                tx, before=cutoff, limit=MAX_SESSIONS_PER_PURGE, apps=self._transcripts.apps
            )
        return sum([await self._purge_session(row.key, cutoff) for row in rows])

    async def _purge_session(self, key: SessionKey, cutoff: float) -> bool:
        async with self._leases.acquire(key) as lease:
            if lease is None:
                return False
            row = lease.row
            if (
                row.clearing.rewound_at is None
                or row.clearing.cleared_at is None
                or row.clearing.cleared_at > cutoff
                or not row.progress.is_learned
            ):
                return False
            transcript_slice, transcript = await self._transcripts.read(
                key, after=row.progress.watermark, turns_before=row.progress.learned_turns
            )
            if transcript_slice is not None and await anext(aiter(transcript_slice.turns), None) is not None:
                # There are messages for which no turn was counted, and they are not learned.
                return False
            is_deleted = await self._clearer.clear(lease, transcript_slice, transcript, mode="delete")
        if is_deleted:
            fields = log_fields("conversation.purged", key)
            logger.info("conversation %s was cleared long ago and is deleted now", key.session, extra=fields)
        return is_deleted
