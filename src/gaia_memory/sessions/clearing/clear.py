"""What was learned leaves the session, unless somebody spoke meanwhile."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal

from gaia_memory.models import LedgerRow, Talk
from gaia_memory.ports import Clock, Database, Ledger, Transcript
from gaia_memory.ports.ledger import CLEAR_SECONDS
from gaia_memory.sessions.learning.conversation_lease import Lease
from gaia_memory.sessions.turns.session_locks import SessionLocks

ClearMode = Literal["auto", "delete", "rewind", "keep"]


class Clearing:
    """Clears conversations whose lease `owner` holds."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock, locks: SessionLocks, *, owner: str) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._locks = locks
        self._owner = owner

    async def clear(self, lease: Lease, talk: Talk | None, transcript: Transcript, *, mode: ClearMode) -> bool:
        """Clear what was read, as configured; False where somebody spoke meanwhile."""
        how = _how(lease.row, transcript) if mode == "auto" else mode
        row, key, owner = lease.row, lease.row.key, self._owner
        if how == "keep":
            async with self._database.transaction() as tx:
                await self._ledger.release(tx, key, owner, done=True)
            lease.given_back = True
            return True
        async with self._alone(lease):
            async with self._database.transaction() as tx:
                if not await self._ledger.begin_clearing(
                    tx,
                    key,
                    owner,
                    turn_no=row.turn_no,
                    now=self._now(),
                    seconds=CLEAR_SECONDS,
                    talker=lease.talker,
                ):
                    return False
            cleared_at = None
            try:
                if talk is None or await transcript.clear(talk, how=how):
                    cleared_at = self._now()
            finally:
                async with self._database.transaction() as tx:
                    rewound = how == "rewind" and talk is not None
                    await self._ledger.end_clearing(tx, key, owner, cleared_at=cleared_at, rewound=rewound)
        return cleared_at is not None

    def _alone(self, lease: Lease) -> AbstractAsyncContextManager[Any]:
        """Keep turns of this process out; the turn that asks for the clear does so, and they may wait for it."""
        return nullcontext() if lease.talker else self._locks.of(lease.row.key)

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _how(row: LedgerRow, transcript: Transcript) -> Literal["delete", "rewind"]:
    """Say how "auto" clears: a session in which somebody else's Runner talks may be open in a browser."""
    return "rewind" if row.is_foreign else transcript.clears_by
