"""The two marks that a turn leaves in the ledger, and the wait for a clear that is under way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.ports import Clock, Database, Ledger, Transaction

logger = logging.getLogger(__name__)

ACTIVE_SECONDS = 15 * 60.0
"""How long a turn counts as active without a sign of life: a cancelled turn fires no hook at its end."""

CLEAR_WAIT_SECONDS = 5.0
"""How long a turn waits for a clear; a clear takes milliseconds unless its process died in it."""

_POLL_SECONDS = 0.05


class TurnMarks:
    """Says in the ledger when a turn begins and ends. Each mark is one short transaction."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock

    async def hold(self, key: SessionKey) -> LedgerRow:
        """Keep a conversation from being cleared while it is loaded for a turn; waits for a running clear."""
        return await self._when_not_clearing(
            key,
            lambda tx, waits: self._ledger.hold(tx, key, now=self._now(), active_seconds=ACTIVE_SECONDS, waits=waits),
        )

    async def hold_for_command(self, key: SessionKey) -> tuple[LedgerRow, float | None]:
        """Keep a conversation from being cleared under a command: the host's next append would find it changed.

        Returns its row and the `until` that `let_go` takes; None where somebody talks in it, which keeps it, too.
        """
        row = await self.row(key)
        if row is not None and row.active_until is not None and row.active_until > self._now():
            return row, None
        row = await self.hold(key)
        return row, row.active_until

    async def let_go(self, key: SessionKey, *, until: float) -> None:
        """Take back a hold, which ends at `until`, unless somebody has begun to talk since."""
        async with self._database.transaction() as tx:
            await self._ledger.let_go(tx, key, until=until)

    async def begin(self, key: SessionKey) -> LedgerRow:
        """Count a turn and mark it active; waits for a running clear. Returns the row after that."""
        return await self._when_not_clearing(
            key,
            lambda tx, waits: self._ledger.begin_turn(
                tx, key, now=self._now(), active_seconds=ACTIVE_SECONDS, waits=waits
            ),
        )

    async def renew(self, key: SessionKey) -> None:
        """Keep a long turn active."""
        async with self._database.transaction() as tx:
            await self._ledger.renew_turn(tx, key, now=self._now(), active_seconds=ACTIVE_SECONDS)

    async def end(self, key: SessionKey) -> None:
        """Mark the conversation quiet from now on."""
        async with self._database.transaction() as tx:
            await self._ledger.end_turn(tx, key, now=self._now())

    async def row(self, key: SessionKey) -> LedgerRow | None:
        """Return what the ledger knows of a conversation."""
        async with self._database.reading() as tx:
            return await self._ledger.row(tx, key)

    def _now(self) -> float:
        return self._clock.now().timestamp()

    async def _when_not_clearing(
        self, key: SessionKey, mark: Callable[[Transaction, bool], Awaitable[LedgerRow]]
    ) -> LedgerRow:
        """Mark once nobody clears; after a while in any case: talk that is not counted is never learned."""
        deadline = asyncio.get_running_loop().time() + CLEAR_WAIT_SECONDS
        waits = True
        while True:
            async with self._database.transaction() as tx:
                row = await mark(tx, waits)
            if row.clearing is None:
                return row
            await asyncio.sleep(_POLL_SECONDS)
            if asyncio.get_running_loop().time() > deadline:
                logger.warning("conversation %s is still being cleared by %s", key.session, row.clearing)
                waits = False
