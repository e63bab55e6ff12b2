"""The right to write the mem0 store: one process has it, by a lease in the database and, in a folder, a lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_memory.ports import Clock
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

LEASE_SECONDS = 30.0
"""The lease is renewed when a third of it has passed."""


@dataclass(frozen=True, slots=True)
class StoreOwner:
    """The name of one follower, unique even within its process, and how it recognizes that another owner has ended.

    `is_dead` takes another owner's name and blocks.
    """

    name: str
    is_dead: Callable[[str], bool]


class StoreOwnership:
    """Owns the store by a lease in the memory database, where every process can read the owner's name.

    An embedded store is owned by a lock on the file `lock_path` as well, which the kernel releases when the process
    dies. The file is never deleted, or two processes could each hold a lock on two files of one name. The lease stops
    the processes of two homes on one database server from taking the one current store from each other.
    """

    def __init__(
        self,
        database: Database,
        outbox: Outbox,
        clock: Clock,
        owner: StoreOwner,
        *,
        lock_path: Path | None = None,
        lease_seconds: float | None = LEASE_SECONDS,
    ) -> None:
        """Take the lease for `lease_seconds` at a time; None takes it from its current owner, without an end."""
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._owner = owner
        self._lock_path = lock_path
        self._lease_seconds = lease_seconds
        self._lock: BaseFileLock | None = None
        self._renewed_at = float("-inf")

    async def acquire(self) -> bool:
        """Try once to become the owner, at once if the last one is dead; return whether this process is the owner."""
        if not await run_in_thread(self._try_lock):
            return False
        if await self._take_lease():
            return True
        self.release_lock()
        return False

    async def renew(self) -> bool:
        """Renew the lease when a third of it has passed; False when it was lost."""
        if self._lease_seconds is None or time.monotonic() - self._renewed_at < self._lease_seconds / 3:
            return True
        return await self._take_lease()

    async def release(self) -> None:
        """Let another process become the owner at once."""
        try:
            async with self._database.transaction() as tx:
                await self._outbox.release_store(tx, self._owner.name)
        finally:
            self.release_lock()

    def release_lock(self) -> None:
        """Release the lock; without the database, the lease expires."""
        if self._lock is not None:
            self._lock.release()

    async def _take_lease(self) -> bool:
        started = time.monotonic()
        is_taken = await self._claim() or await self._take_over()
        if is_taken:
            self._renewed_at = started
        return is_taken

    async def _claim(self, *, dead_owner: str | None = None) -> bool:
        now = self._clock.now().timestamp()
        async with self._database.transaction() as tx:
            return await self._outbox.claim_store(
                tx, self._owner.name, now=now, lease_seconds=self._lease_seconds, dead_owner=dead_owner
            )

    async def _take_over(self) -> bool:
        async with self._database.read_transaction() as tx:
            current_owner = (await self._outbox.store(tx)).owner
        if current_owner is None or not await run_in_thread(self._owner.is_dead, current_owner):
            return False
        return await self._claim(dead_owner=current_owner)

    def _try_lock(self) -> bool:
        if self._lock_path is None:
            return True
        from filelock import FileLock, Timeout

        if self._lock is None:
            self._lock_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(self._lock_path, mode=0o600, thread_local=False)
        if not self._lock.is_locked:
            try:
                self._lock.acquire(blocking=False)
            except Timeout:
                return False
        return True
