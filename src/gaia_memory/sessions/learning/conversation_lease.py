"""A lease on a conversation, kept while somebody works under it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.ports.ledger import LEASE_SECONDS
from gaia_memory.telemetry import about

logger = logger_for(__name__)

RENEW_SECONDS = 10.0


@dataclass(slots=True)
class Lease:
    """A lease taken; `given_back` once a step returned it in its own transaction.

    `talker` is the turn for which it was taken, and which does not stand in its way.
    """

    row: LedgerRow
    talker: str = ""
    given_back: bool = False


class Leases:
    """Takes leases on conversations for one owner, renews them and gives them back."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock, *, owner: str) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._owner = owner

    @asynccontextmanager
    async def taken(self, key: SessionKey, *, talker: str = "") -> AsyncIterator[Lease | None]:
        """Hold a conversation; None where somebody else is at it or the person is talking, but for `talker`."""
        async with self._database.transaction() as tx:
            row = await self._ledger.claim(
                tx, key, self._owner, now=self._now(), lease_seconds=LEASE_SECONDS, talker=talker
            )
        if row is None:
            yield None
            return
        beat = asyncio.create_task(self._keep(key))
        lease = Lease(row, talker)
        try:
            yield lease
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)
            if not lease.given_back:
                async with self._database.transaction() as tx:
                    await self._ledger.release(tx, key, self._owner)

    async def _keep(self, key: SessionKey) -> None:
        kept = True
        while kept:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                async with self._database.transaction() as tx:
                    kept = await self._ledger.renew(tx, key, self._owner, now=self._now(), lease_seconds=LEASE_SECONDS)
            except MemoryUnavailable as error:
                # A database that is away for a moment costs one renewal: the lease outlasts two.
                fields = about("lease.not_renewed", key, error=type(error).__name__)
                told = "the lease on conversation %s could not be renewed: %s"
                logger.warning(told, key.session, error, extra=fields)

    def _now(self) -> float:
        return self._clock.now().timestamp()
