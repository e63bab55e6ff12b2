"""Tracks which erasures the store and the database's files have completed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from gaia_memory.log import logger_for
from gaia_memory.ports import Database, Outbox
from gaia_memory.telemetry import error_frames, log_fields

MIN_RETRY_SECONDS = 0.1
MAX_RETRY_SECONDS = 2.0

QUIET_SECONDS = 2.0
MAX_GATHERING_SECONDS = 20.0
"""How long erasures are gathered while more keep coming, because each pass rebuilds the whole store."""

MAX_GATHERED_FACTS = 500
"""Facts that are deleted from the open store while erasures are gathered; for more, a new store is faster."""

log = logger_for(__name__)


class ErasureTracker:
    """Completes each noted erasure: removes it from the store, from the database's files and from the list.

    An erasure leaves the list only when the store contains every other fact again, so that a caller of `settled`
    finds them.
    """

    def __init__(self, database: Database, outbox: Outbox, scrub: Callable[[], Awaitable[bool]]) -> None:
        """Rewrite the database's files with `scrub`, which returns False while they are in use."""
        self.trouble: str | None = None
        self._database = database
        self._outbox = outbox
        self._scrub = scrub
        self._removed_from_store: set[int] = set()
        self._removed_from_files: set[int] = set()
        self._first_seen: dict[int, float] = {}
        self._retry_seconds = MIN_RETRY_SECONDS
        self._next_try = 0.0

    def mark_removed(self, erasures: Iterable[int]) -> None:
        """Record that no text of these erasures is in the store or can get into it."""
        self._removed_from_store.update(erasures)

    def may_be_in_store(self, erasures: set[int]) -> bool:
        """Return whether the store may still contain text of one of these."""
        return not erasures <= self._removed_from_store

    def is_batch_ready(self, erasures: set[int], *, lag: int, is_awaited: bool) -> bool:
        """Return whether it is time to create a store without the text of `erasures`.

        It waits for more erasures unless a caller waits or the open store has many facts to remove.
        """
        now = asyncio.get_running_loop().time()
        self._first_seen = {
            erasure: self._first_seen.get(erasure, now) for erasure in erasures - self._removed_from_store
        }
        first_seen = self._first_seen.values()
        return (
            is_awaited
            or lag > MAX_GATHERED_FACTS
            or now - max(first_seen) >= QUIET_SECONDS
            or now - min(first_seen) >= MAX_GATHERING_SECONDS
        )

    async def finish(self, pending: set[int], *, is_caught_up: bool) -> bool:
        """Take the next step for `pending`; True when some are finished. `is_caught_up`: the outbox was empty."""
        self._removed_from_store &= pending
        self._removed_from_files &= self._removed_from_store
        due = self._removed_from_store - self._removed_from_files
        if due and await self._try_scrub():
            self._removed_from_files |= due
        finished = self._removed_from_files if is_caught_up else set()
        if not finished:
            return False
        async with self._database.transaction() as tx:
            await self._outbox.finish_erasures(tx, finished)
        log.info(
            "%d erasures are finished", len(finished), extra=log_fields("erasure.finished", erasures=len(finished))
        )
        return True

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
            self.trouble = f"forgotten text cannot be removed from the database's files ({type(error).__name__})"
            kind = type(error).__name__
            fields = log_fields("files.not_scrubbed", error=kind)
            log.warning("the database's files could not be scrubbed (%s)", kind, extra=fields)
            log.debug("the database's files could not be scrubbed:\n%s", error_frames(error), extra=fields)
        self._retry_seconds = MIN_RETRY_SECONDS if done else min(self._retry_seconds * 2, MAX_RETRY_SECONDS)
        self._next_try = 0.0 if done else now + self._retry_seconds
        return done
