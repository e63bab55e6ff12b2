"""Tracks which erasures the store and the database's files have completed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from gaia_memory.log import error_frames, log_fields, logger_for
from gaia_memory.models import StoreState
from gaia_memory.ports import Clock

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

RECREATION_INTERVAL_SECONDS = 5.0
"""How long erasures are gathered after the last recreation, unless a caller waits: each recreation rewrites all."""

RETRY_SECONDS = 0.5

log = logger_for(__name__)


class ErasureTracker:
    """Completes each noted erasure: removes it from the store, from the database's files and from the list.

    An erasure leaves the list only when the store contains every other fact again, so that a caller of `settled`
    finds them.
    """

    def __init__(self, database: Database, outbox: Outbox, clock: Clock, scrub: Callable[[], Awaitable[bool]]) -> None:
        """Rewrite the database's files with `scrub`, which returns False while they are in use."""
        self.trouble: str | None = None
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._scrub = scrub
        self._removed_from_store: set[int] = set()
        self._removed_from_files: set[int] = set()
        self._next_try = 0.0

    async def load_state(self) -> StoreState:
        """Return the state of the store, after noting the erasure of what a tool has forgotten for long enough."""
        now = self._clock.now().timestamp()
        async with self._database.read_transaction() as tx:
            state = await self._outbox.store(tx)
        if state.erase_at is None or state.erase_at > now:
            return state
        async with self._database.transaction() as tx:
            await self._outbox.erase_withdrawn(tx, now=now)
            return await self._outbox.store(tx)

    def mark_removed(self, erasures: Iterable[int]) -> None:
        """Record that no text of these erasures is in the store or can get into it."""
        self._removed_from_store.update(erasures)

    def may_be_in_store(self, erasures: set[int]) -> bool:
        """Return whether the store may still contain text of one of these."""
        return not erasures <= self._removed_from_store

    async def finish(self, pending: set[int], *, is_caught_up: bool) -> None:
        """Take the next step for `pending`. `is_caught_up`: the outbox was empty."""
        self._removed_from_store &= pending
        self._removed_from_files &= self._removed_from_store
        due = self._removed_from_store - self._removed_from_files
        if due and await self._try_scrub():
            self._removed_from_files |= due
        finished = self._removed_from_files if is_caught_up else set()
        if finished:
            async with self._database.transaction() as tx:
                await self._outbox.finish_erasures(tx, finished)
            fields = log_fields("erasure.finished", erasures=len(finished))
            log.info("%d erasures are finished", len(finished), extra=fields)

    async def _try_scrub(self) -> bool:
        """Scrub, unless that failed a moment ago."""
        now = asyncio.get_running_loop().time()
        if now < self._next_try:
            return False
        try:
            done = await self._scrub()
            self.trouble = None if done else "forgotten text is still in the database's files: a reader has them open"
        except Exception as error:
            # The files may be locked or missing, or the disk full. Other facts must not wait for that.
            done = False
            kind = type(error).__name__
            self.trouble = f"forgotten text cannot be removed from the database's files ({kind})"
            fields = log_fields("files.not_scrubbed", error=kind)
            log.warning("the database's files could not be scrubbed (%s)", kind, extra=fields)
            log.debug("the database's files could not be scrubbed:\n%s", error_frames(error), extra=fields)
        self._next_try = 0.0 if done else now + RETRY_SECONDS
        return done
