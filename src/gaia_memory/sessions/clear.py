"""Clears what was learned from the session, unless the user has returned."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal

from gaia_memory.models import LedgerRow, TranscriptSlice
from gaia_memory.models.quiet_conversations import CLEAR_LEASE_SECONDS
from gaia_memory.ports import Transcript
from gaia_memory.sessions.conversation_lease import ConversationLease
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.message_debounce import SessionLocks

ClearMode = Literal["auto", "delete", "rewind", "keep"]


class SessionClearer:
    """Clears conversations under a lease of the client."""

    def __init__(self, client: LedgerClient, locks: SessionLocks) -> None:
        self._client = client
        self._locks = locks

    async def clear(
        self,
        lease: ConversationLease,
        transcript_slice: TranscriptSlice | None,
        transcript: Transcript,
        *,
        mode: ClearMode,
        resets: bool = False,
    ) -> bool:
        """Clear what was read, as `mode` says; False if there was a new message meanwhile.

        In a session that is kept, a new stretch begins; if it `resets`, no request holds what was read from then on.
        """
        effective_mode = resolve_mode(mode, lease.row, transcript)
        row, key, owner = lease.row, lease.row.key, self._client.owner
        if effective_mode == "keep":
            end = transcript_slice.end if transcript_slice is not None and resets else None
            await self._client.end_stretch(key, reset_at=None if end is None else end.timestamp)
            lease.is_released = True
            return True
        async with self._turn_lock(lease):
            async with self._client.database.transaction() as tx:
                if not await self._client.ledger.begin_clearing(
                    tx,
                    key,
                    owner,
                    turn_no=row.turn.turn_no,
                    now=self._client.now(),
                    seconds=CLEAR_LEASE_SECONDS,
                    turn_owner=lease.turn_owner,
                ):
                    return False
            cleared_at = None
            try:
                if transcript_slice is None or await transcript.clear(transcript_slice, how=effective_mode):
                    cleared_at = self._client.now()
            finally:
                async with self._client.database.transaction() as tx:
                    is_rewound, is_deleted = (
                        transcript_slice is not None and effective_mode == how for how in ("rewind", "delete")
                    )
                    await self._client.ledger.end_clearing(
                        tx, key, owner, cleared_at=cleared_at, is_rewound=is_rewound, is_deleted=is_deleted
                    )
                    if cleared_at is not None:
                        await self._client.facts.shown.forget_shown(tx, key)
        return cleared_at is not None

    def _turn_lock(self, lease: ConversationLease) -> AbstractAsyncContextManager[Any]:
        """Return the lock against turns of this process; none for a turn's own clear, which they may wait for."""
        return nullcontext() if lease.turn_owner else self._locks.for_session(lease.row.key)


def resolve_mode(mode: ClearMode, row: LedgerRow, transcript: Transcript) -> Literal["delete", "rewind", "keep"]:
    """Return what "auto" means: a session in which a foreign Runner ran turns is its host's, and stays as it is."""
    if mode != "auto":
        return mode
    return "keep" if row.session.is_foreign else transcript.clear_method
