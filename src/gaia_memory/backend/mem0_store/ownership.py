"""The right to write the mem0 store: one process has it, by a lock on a file or a lease in the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.ports import Clock, Database, Outbox

if TYPE_CHECKING:
    from filelock import BaseFileLock

LEASE_SECONDS = 30.0
"""The lease is renewed when a third of it has passed."""


@dataclass(frozen=True, slots=True)
class StoreOwner:
    """The name of one follower, unique even within its process, and how it recognizes that another owner has ended.

    `is_dead` takes another owner's name and blocks.
    """

    name: str
    is_dead: Callable[[str], bool]


class StoreOwnership(Protocol):
    """The right to write the store."""

    async def acquire(self) -> bool:
        """Try once to become the owner and return whether this process is the owner."""
        ...

    async def renew(self) -> bool:
        """Renew the ownership if that is due; False when it was lost."""
        ...

    async def release(self) -> None:
        """Let another process become the owner at once."""
        ...

    def release_without_loop(self) -> None:
        """Release as much as possible without an event loop."""
        ...


class StoreLease:
    """Owns the store by a lease in the memory database, where every process can read the owner's name."""

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        clock: Clock,
        owner: StoreOwner,
        *,
        lease_seconds: float | None = LEASE_SECONDS,
    ) -> None:
        """Take the lease for `lease_seconds` at a time; None takes it from its current owner, without an end.

        The lease of a dead owner is taken over at once.
        """
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._renewed_at = float("-inf")

    async def acquire(self) -> bool:
        """Take the lease if it is free or its owner is dead."""
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
            await self._outbox.release_store(tx, self._owner.name)

    def release_without_loop(self) -> None:
        """Do nothing: without the database, the lease expires."""

    async def _claim(self, *, dead_owner: str | None = None) -> bool:
        now = self._clock.now().timestamp()
        async with self._database.transaction() as tx:
            return await self._outbox.claim_store(
                tx, self._owner.name, now=now, lease_seconds=self._lease_seconds, dead_owner=dead_owner
            )

    async def _take_over(self) -> bool:
        async with self._database.read_transaction() as tx:
            current_owner = (await self._outbox.store(tx)).owner
        if current_owner is None or not await asyncio.to_thread(self._owner.is_dead, current_owner):
            return False
        return await self._claim(dead_owner=current_owner)


class FolderLock:
    """Owns an embedded store by a lock on the file `path`, which the kernel releases when the process dies.

    The file is never deleted, or two processes could each hold a lock on two files of one name. The lease is taken
    as well: it names the owner and, when the memory database is on a server, stops the processes of two homes from
    taking the one current store from each other.
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
