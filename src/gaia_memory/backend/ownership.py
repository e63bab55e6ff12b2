"""Who may write the mem0 store: one process, by the operating system's lock or by a lease in the database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gaia_memory.backend.pools import Pool
from gaia_memory.ports import Clock, Database, Outbox

if TYPE_CHECKING:
    from filelock import BaseFileLock

LEASE_SECONDS = 30.0
RENEW_SECONDS = 10.0


class Ownership(Protocol):
    """The right to write the store."""

    async def gain(self) -> bool:
        """Try once to become the owner, and say whether this process is it now."""
        ...

    async def keep(self) -> bool:
        """Do what is due to stay the owner; False when it was lost."""
        ...

    async def give_back(self) -> None:
        """Let somebody else become the owner at once."""
        ...

    def abandon(self) -> None:
        """Give back what can be given back without an event loop."""
        ...


class FolderLock:
    """Owns an embedded store by a lock on `path`, which the kernel takes back when the process dies.

    The file is never deleted: two processes could then hold a lock each, on two files of one name.
    """

    def __init__(self, path: Path, pool: Pool, database: Database, outbox: Outbox, clock: Clock, owner: str) -> None:
        """Write `owner` into the database too, for those who want to know who it is."""
        self._path = path
        self._lock: BaseFileLock | None = None
        self._pool = pool
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._owner = owner

    async def gain(self) -> bool:
        """Take the lock if it is free."""
        if not await self._pool.run(self._try):
            return False
        async with self._database.transaction() as tx:
            await self._outbox.own(tx, self._owner, now=self._clock.now().timestamp(), lease=None)
        return True

    async def keep(self) -> bool:
        """Nothing is due: the lock lasts as long as the process."""
        return True

    async def give_back(self) -> None:
        """Release the lock."""
        if self._lock is None or not self._lock.is_locked:
            return
        try:
            async with self._database.transaction() as tx:
                await self._outbox.disown(tx, self._owner)
        finally:
            await self._pool.run(self.abandon)

    def abandon(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()

    def _try(self) -> bool:
        from filelock import FileLock, Timeout

        if self._lock is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(self._path, mode=0o600, thread_local=False)
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except Timeout:
                return False
        return True


class StoreLease:
    """Owns a store on a server by a lease in the memory database."""

    def __init__(
        self, database: Database, outbox: Outbox, clock: Clock, owner: str, *, seconds: float = LEASE_SECONDS
    ) -> None:
        """Hold the lease `seconds` at a time."""
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._owner = owner
        self._seconds = seconds
        self._renewed = float("-inf")

    async def gain(self) -> bool:
        """Take the lease if nobody holds it."""
        started = time.monotonic()
        async with self._database.transaction() as tx:
            mine = await self._outbox.own(tx, self._owner, now=self._clock.now().timestamp(), lease=self._seconds)
        if mine:
            self._renewed = started
        return mine

    async def keep(self) -> bool:
        """Renew the lease when a third of it has passed."""
        if time.monotonic() - self._renewed < self._seconds * RENEW_SECONDS / LEASE_SECONDS:
            return True
        return await self.gain()

    async def give_back(self) -> None:
        """End the lease."""
        async with self._database.transaction() as tx:
            await self._outbox.disown(tx, self._owner)

    def abandon(self) -> None:
        """Nothing can be done without the database: the lease runs out by itself."""
