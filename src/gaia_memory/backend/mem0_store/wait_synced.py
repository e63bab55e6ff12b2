"""Waits until the mem0 store is up to date, in the process that writes it or in any other."""

from __future__ import annotations

import asyncio
import os
from typing import Protocol

from gaia_memory.errors import StoreStalledError
from gaia_memory.models import StoreState
from gaia_memory.ports import Clock, Database, Outbox

POLL_SECONDS = 0.05
SLOW_POLL_SECONDS = 0.25
SLOW_POLL_IDS = 1000
MAX_DIRTY_IDS_READ = 10_000
"""More dirty ids than this are only counted: reading them at each poll would delay the turns of this process."""

WAIT_REQUEST_SECONDS = 5.0
"""How long a request to hurry is valid; a waiting caller repeats it."""


class FollowerProgress(Protocol):
    """The part of its own process's follower that a waiter needs."""

    @property
    def is_ready(self) -> bool:
        """Whether the store is open here, or this process has failed to become its owner since it was woken."""
        ...

    @property
    def is_owner(self) -> bool:
        """Whether this process writes the store."""
        ...

    @property
    def progress(self) -> int:
        """A number that grows with each completed step."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why this process cannot write the store; None when it can."""
        ...


class SyncWaiter:
    """Waits once, for the ids that are dirty at its start and for all erasures."""

    def __init__(self, database: Database, outbox: Outbox, clock: Clock, follower: FollowerProgress) -> None:
        """Poll `follower` and the database."""
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._follower = follower
        self._store_id: str | None = None
        self._pending: set[str] = set()
        self._is_list_too_long = False
        self._requested_at = float("-inf")

    async def wait(self, *, stall_seconds: float) -> None:
        """Return when all of them are done.

        Raises:
            StoreStalledError: nothing changed for `stall_seconds`.
        """
        loop = asyncio.get_running_loop()
        last_snapshot: object = None
        changed_at = loop.time()
        while True:
            # A follower that becomes ready after the refresh may have created another store in between.
            is_ready = self._follower.is_ready
            state = await self._refresh(is_ready)
            if is_ready and not self._pending and not self._is_list_too_long and not state.erasures:
                return
            snapshot = (
                self._follower.progress,
                len(self._pending),
                state.lag,
                state.erasures,
                state.store_id,
                state.owner,
            )
            if snapshot != last_snapshot:
                last_snapshot, changed_at = snapshot, loop.time()
            elif loop.time() - changed_at >= stall_seconds:
                raise self._stalled(state, stall_seconds)
            await self._request_hurry(loop.time())
            await asyncio.sleep(
                SLOW_POLL_SECONDS if self._is_list_too_long or len(self._pending) > SLOW_POLL_IDS else POLL_SECONDS
            )

    async def _refresh(self, is_ready: bool) -> StoreState:
        """Remove ids that are clean from the list; a new store puts every dirty id on it.

        An id that is dirty at a later version stays, because the store may not contain it yet. A list that is too long
        is not read; when it is shorter, every id on it is waited for.
        """
        async with self._database.read_transaction() as tx:
            state = await self._outbox.store(tx)
            is_too_long = state.lag > MAX_DIRTY_IDS_READ
            rows = await self._outbox.dirty(tx, limit=state.lag) if state.lag and not is_too_long else []
        if is_too_long:
            self._is_list_too_long = True
            return state
        dirty = {row.fact_id for row in rows}
        if state.store_id != self._store_id or not is_ready or self._is_list_too_long:
            self._is_list_too_long = False
            self._store_id = state.store_id
            self._pending |= dirty
        self._pending &= dirty
        return state

    async def _request_hurry(self, now: float) -> None:
        """Notify an owner in another process that a caller waits."""
        if (
            self._follower.is_owner
            or not self._follower.is_ready
            or now - self._requested_at < WAIT_REQUEST_SECONDS / 2
        ):
            return
        self._requested_at = now
        async with self._database.transaction() as tx:
            await self._outbox.register_waiter(tx, until=self._clock.now().timestamp() + WAIT_REQUEST_SECONDS)

    def _stalled(self, state: StoreState, seconds: float) -> StoreStalledError:
        waiting = (
            f"{state.lag if self._is_list_too_long else len(self._pending)} facts and {state.erasures} erasures wait"
        )
        trouble = f" ({self._follower.trouble})" if self._follower.trouble else ""
        if self._follower.is_owner:
            return StoreStalledError(
                f"the mem0 store, owned by this process (pid {os.getpid()}), made no progress for {seconds:g} s: "
                f"{waiting}{trouble}",
                remedy="put right what the reason names, or restart the process; nothing is lost",
            )
        owner = state.owner_description or "another process"
        return StoreStalledError(
            f"the mem0 store, owned by {owner}, made no progress for {seconds:g} s: {waiting}{trouble}",
            remedy="check what that process is doing, or end it: this process then takes over, and nothing is lost",
        )
