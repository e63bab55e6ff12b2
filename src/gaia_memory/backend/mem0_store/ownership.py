"""Who may write the mem0 store: one process, by the operating system's lock or by a lease in the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.ports import Clock, Database, Outbox

if TYPE_CHECKING:
    from filelock import BaseFileLock

LEASE_SECONDS = 30.0
"""Renewed when a third of it has passed."""


class StoreOwnership(Protocol):
    """The right to write the store."""

    async def acquire(self) -> bool:
        """Try once to become the owner, and say whether this process is it now."""
        ...

    async def renew(self) -> bool:
        """Do what is due to stay the owner; False when it was lost."""
        ...

    async def release(self) -> None:
        """Let somebody else become the owner at once."""
        ...

    def release_without_loop(self) -> None:
        """Give back what can be given back without an event loop."""
        ...


class StoreLease:
    """Owns the store by a lease in the memory database, which names the owner to everybody."""

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        clock: Clock,
        owner: str,
        *,
        is_owner_dead: Callable[[str], bool],
        lease_seconds: float | None = LEASE_SECONDS,
    ) -> None:
        """Hold the lease `lease_seconds` at a time; None takes it from whoever has it, for as long as nobody else does.

        No other follower has the name `owner`, not even one of this process. `is_owner_dead`, which blocks, says
        whether an owner has ended: its lease is not waited for.
        """
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._owner = owner
        self._is_owner_dead = is_owner_dead
        self._lease_seconds = lease_seconds
        self._renewed_at = float("-inf")

    async def acquire(self) -> bool:
        """Take the lease if nobody else's is running, or its owner was killed."""
        started = time.monotonic()
        is_acquired = await self._claim() or await self._take_over()
        if is_acquired:
            self._renewed_at = started
        return is_acquired

    async def renew(self) -> bool:
        """Renew the lease when a third of it has passed."""
        if self._lease_seconds is None or time.monotonic() - self._renewed_at < self._lease_seconds / 3:
            return True
        return await self.acquire()

    async def release(self) -> None:
        """End the lease."""
        async with self._database.transaction() as tx:
            await self._outbox.release_store(tx, self._owner)

    def release_without_loop(self) -> None:
        """Nothing can be done without the database: the lease runs out by itself."""

    async def _claim(self, *, dead_owner: str | None = None) -> bool:
        now = self._clock.now().timestamp()
        async with self._database.transaction() as tx:
            return await self._outbox.claim_store(
                tx, self._owner, now=now, lease_seconds=self._lease_seconds, dead_owner=dead_owner
            )

    async def _take_over(self) -> bool:
        async with self._database.read_transaction() as tx:
            current_owner = (await self._outbox.store(tx)).owner
        if current_owner is None or not await asyncio.to_thread(self._is_owner_dead, current_owner):
            return False
        return await self._claim(dead_owner=current_owner)


class FolderLock:
    """Owns an embedded store by a lock on `path`, which the kernel takes back when the process dies.

    The file is never deleted: two processes could then hold a lock each, on two files of one name. The lease
    comes on top: it names the owner and, where the memory database is on a server, keeps the processes of two
    homes from taking the one current store from each other.
    """

    def __init__(self, path: Path, pool: WorkerPool, lease: StoreLease) -> None:
        """Lock in a thread of `pool`."""
        self._path = path
        self._lock: BaseFileLock | None = None
        self._pool = pool
        self._lease = lease

    async def acquire(self) -> bool:
        """Take the lock if it is free, then the lease."""
        if not await self._pool.run(self._try_lock):
            return False
        if await self._lease.acquire():
            return True
        await self._pool.run(self.release_without_loop)
        return False

    async def renew(self) -> bool:
        """Keep the lease; the lock lasts as long as the process."""
        return await self._lease.renew()

    async def release(self) -> None:
        """End the lease and release the lock."""
        try:
            await self._lease.release()
        finally:
            await self._pool.run(self.release_without_loop)

    def release_without_loop(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()

    def _try_lock(self) -> bool:
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
