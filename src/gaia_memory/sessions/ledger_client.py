"""The ledger for one owner: a client with its database, clock and owner name. Each method is one transaction."""

from __future__ import annotations

from collections.abc import Collection

from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.ports.ledger import LEASE_SECONDS


class LedgerClient:
    """Reads and writes the ledger for `owner`; use `ledger` and `database` for longer transactions."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock, *, owner: str) -> None:
        self.database = database
        self.ledger = ledger
        self.clock = clock
        self.owner = owner

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.clock.now().timestamp()

    async def row(self, key: SessionKey) -> LedgerRow | None:
        """Return the ledger's row of a conversation."""
        async with self.database.read_transaction() as tx:
            return await self.ledger.row(tx, key)

    async def claim(self, key: SessionKey, *, turn_owner: str = "") -> LedgerRow | None:
        """Take the lease of a conversation; None while another owner has it, or a turn other than `turn_owner` runs."""
        async with self.database.transaction() as tx:
            return await self.ledger.claim(
                tx, key, self.owner, now=self.now(), lease_seconds=LEASE_SECONDS, turn_owner=turn_owner
            )

    async def renew(self, key: SessionKey) -> bool:
        """Renew the lease of a conversation; False when it was lost."""
        async with self.database.transaction() as tx:
            return await self.ledger.renew(tx, key, self.owner, now=self.now(), lease_seconds=LEASE_SECONDS)

    async def release(self, key: SessionKey, *, is_done: bool = False) -> None:
        """Release the lease of a conversation; with `is_done` the turns it was taken for need no clearing."""
        async with self.database.transaction() as tx:
            await self.ledger.release(tx, key, self.owner, is_done=is_done)

    async def skip_events(self, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events."""
        async with self.database.transaction() as tx:
            await self.ledger.skip_events(tx, key, event_ids)
