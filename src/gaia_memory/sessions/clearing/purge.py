"""Talk that was cleared by a rewind is still in the host's session, hidden: after a while it is deleted."""

from __future__ import annotations

from gaia_memory.log import logger_for
from gaia_memory.models import SessionKey
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.sessions.clearing.clear import Clearing
from gaia_memory.sessions.learning.conversation_lease import Leases
from gaia_memory.sessions.transcript_registry import Transcripts
from gaia_memory.sessions.turns.session_locks import SessionLocks
from gaia_memory.telemetry import about

logger = logger_for(__name__)

AT_ONCE = 50
"""Sessions that one sweep deletes at most: deleting must not hold up learning."""


class Purge:
    """Deletes sessions that were cleared long ago and in which nobody has spoken since."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        transcripts: Transcripts,
        locks: SessionLocks,
        clock: Clock,
        *,
        owner: str,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._transcripts = transcripts
        self._clock = clock
        self._leases = Leases(database, ledger, clock, owner=owner)
        self._clearing = Clearing(database, ledger, clock, locks, owner=owner)

    async def run(self, *, retain_seconds: float) -> int:
        """Delete what was cleared longer ago, the oldest first; return how many sessions that were."""
        before = self._clock.now().timestamp() - retain_seconds
        async with self._database.reading() as tx:
            rows = await self._ledger.to_purge(tx, before=before, limit=AT_ONCE, apps=self._transcripts.apps)
        return sum([await self._purge(row.key, before) for row in rows])

    async def _purge(self, key: SessionKey, before: float) -> bool:
        async with self._leases.taken(key) as lease:
            if lease is None:
                return False
            row = lease.row
            if row.rewound_at is None or row.cleared_at is None or row.cleared_at > before or not row.is_learned:
                return False
            talk, transcript = await self._transcripts.read(key, after=row.watermark, turns_before=row.learned_turns)
            if talk is not None and await anext(aiter(talk.turns), None) is not None:
                # Somebody has spoken where no turn was counted: that is not learned.
                return False
            is_deleted = await self._clearing.clear(lease, talk, transcript, mode="delete")
        if is_deleted:
            fields = about("conversation.purged", key)
            logger.info("conversation %s was cleared long ago and is deleted now", key.session, extra=fields)
        return is_deleted
