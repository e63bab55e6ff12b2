"""Waiting until the mem0 store has followed, in the process that writes it or in any other."""

from __future__ import annotations

import asyncio
import os
from typing import Protocol

from gaia_memory.errors import StoreStalledError
from gaia_memory.models import StoreState
from gaia_memory.ports import Clock, Database, Outbox

POLL = 0.05
LONG_POLL = 0.25
LONG_LIST = 1000
TOO_LONG_TO_READ = 10_000
"""Dirty ids that are only counted: reading more of them at each look would hold up the turns of this process."""

AWAITED = 5.0
"""Seconds for which a request to hurry is valid; it is repeated while somebody waits."""


class Watched(Protocol):
    """What a waiter sees of the follower of its own process."""

    @property
    def ready(self) -> bool:
        """Whether this process has its store open, or tried to become the owner since it was woken, in vain."""
        ...

    @property
    def owned(self) -> bool:
        """Whether this process writes the store."""
        ...

    @property
    def progress(self) -> int:
        """A number that grows with whatever gets done."""
        ...

    @property
    def trouble(self) -> str | None:
        """What keeps this process from writing the store."""
        ...


class Settling:
    """One wait for the ids that were dirty when it began, and for all erasures."""

    def __init__(self, database: Database, outbox: Outbox, clock: Clock, follower: Watched) -> None:
        """Watch `follower` and the database."""
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._follower = follower
        self._store_id: str | None = None
        self._pending: set[str] = set()
        self._is_unread = False
        self._asked_at = float("-inf")

    async def wait(self, *, stall_seconds: float) -> None:
        """Return when it is done.

        Raises:
            StoreStalledError: nothing changed for `stall_seconds`.
        """
        loop = asyncio.get_running_loop()
        seen: object = None
        changed_at = loop.time()
        while True:
            # Whoever is ready only after the look may have begun a store anew meanwhile.
            ready = self._follower.ready
            state = await self._look(ready)
            if ready and not self._pending and not self._is_unread and not state.erasures:
                return
            now = (self._follower.progress, len(self._pending), state.lag, state.erasures, state.store_id, state.owner)
            if now != seen:
                seen, changed_at = now, loop.time()
            elif loop.time() - changed_at >= stall_seconds:
                raise self._stalled(state, stall_seconds)
            await self._hurry(loop.time())
            await asyncio.sleep(LONG_POLL if self._is_unread or len(self._pending) > LONG_LIST else POLL)

    async def _look(self, ready: bool) -> StoreState:
        """Cross off what is no longer dirty; a store that was begun anew lacks whatever is dirty then.

        An id that is dirty at a later version may not be in the store at all yet, so it stays on the list. Too long
        a list is not read: whatever is dirty when it has become shorter is waited for.
        """
        async with self._database.reading() as tx:
            state = await self._outbox.store(tx)
            unread = state.lag > TOO_LONG_TO_READ
            rows = await self._outbox.dirty(tx, limit=state.lag) if state.lag and not unread else []
        if unread:
            self._is_unread = True
            return state
        dirty = {row.fact_id for row in rows}
        if state.store_id != self._store_id or not ready or self._is_unread:
            self._is_unread = False
            self._store_id = state.store_id
            self._pending |= dirty
        self._pending &= dirty
        return state

    async def _hurry(self, now: float) -> None:
        """Tell an owner in another process that somebody waits."""
        if self._follower.owned or not self._follower.ready or now - self._asked_at < AWAITED / 2:
            return
        self._asked_at = now
        async with self._database.transaction() as tx:
            await self._outbox.await_store(tx, until=self._clock.now().timestamp() + AWAITED)

    def _stalled(self, state: StoreState, seconds: float) -> StoreStalledError:
        waiting = f"{state.lag if self._is_unread else len(self._pending)} facts and {state.erasures} erasures wait"
        trouble = f" ({self._follower.trouble})" if self._follower.trouble else ""
        if self._follower.owned:
            return StoreStalledError(
                f"the mem0 store, owned by this process (pid {os.getpid()}), made no progress for {seconds:g} s: "
                f"{waiting}{trouble}",
                remedy="put right what the reason names, or restart the process; nothing is lost",
            )
        pid, host = owner_process(state.owner)
        return StoreStalledError(
            f"the mem0 store, owned by process {pid} on {host}, made no progress for {seconds:g} s: {waiting}{trouble}",
            remedy=f"look at what process {pid} is doing or end it: this process takes over then, nothing is lost",
        )


def owner_process(owner: str | None) -> tuple[str, str]:
    """Return process id and host of an owner written as `host:pid:…`."""
    host, _, rest = (owner or "").rpartition(":")[0].rpartition(":")
    return (rest, host) if rest else ("unknown", "an unknown host")
