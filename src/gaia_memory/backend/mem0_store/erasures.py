"""Erasures: which of them the store and the database's files are already free of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from gaia_memory.log import logger_for
from gaia_memory.ports import Database, Outbox
from gaia_memory.telemetry import about, frames_of

SHORTEST_WAIT = 0.1
LONGEST_WAIT = 2.0

QUIET_SECONDS = 2.0
LONGEST_GATHERING = 20.0
"""Erasures that come one after another are gathered for so long, since each pass writes the whole store anew."""

FEW = 500
"""Facts that leave the open store at once while erasures are gathered; more are gone sooner with the store itself."""

log = logger_for(__name__)


class Erasing:
    """Brings each noted erasure to its end: out of the store, out of the database's files, crossed off.

    It is crossed off only once the store holds every other fact again, so that whoever waits for it finds them.
    """

    def __init__(self, database: Database, outbox: Outbox, scrub: Callable[[], Awaitable[bool]]) -> None:
        """Rewrite the database's files with `scrub`, which says False while they are in use."""
        self.trouble: str | None = None
        self._database = database
        self._outbox = outbox
        self._scrub = scrub
        self._left_store: set[int] = set()
        self._left_files: set[int] = set()
        self._seen: dict[int, float] = {}
        self._wait = SHORTEST_WAIT
        self._next_try = 0.0

    def left_store(self, erasures: Iterable[int]) -> None:
        """Note that no text of these is in the store any more, nor can get into it."""
        self._left_store.update(erasures)

    def in_store(self, erasures: set[int]) -> bool:
        """Say whether the store may still hold text of one of these."""
        return not erasures <= self._left_store

    def is_gathered(self, erasures: set[int], *, lag: int, awaited: bool) -> bool:
        """Say whether it is time to begin a store without the text of `erasures`.

        They are given a quiet time to become more, unless somebody waits or much is to be removed from the open store.
        """
        now = asyncio.get_running_loop().time()
        self._seen = {erasure: self._seen.get(erasure, now) for erasure in erasures - self._left_store}
        seen = self._seen.values()
        return awaited or lag > FEW or now - max(seen) >= QUIET_SECONDS or now - min(seen) >= LONGEST_GATHERING

    async def finish(self, pending: set[int], *, followed: bool) -> bool:
        """Do what is due for `pending`; True when some were crossed off. `followed`: the outbox was empty."""
        self._left_store &= pending
        self._left_files &= self._left_store
        due = self._left_store - self._left_files
        if due and await self._scrubbed():
            self._left_files |= due
        finished = self._left_files if followed else set()
        if not finished:
            return False
        async with self._database.transaction() as tx:
            await self._outbox.erased(tx, finished)
        log.info("%d erasures are finished", len(finished), extra=about("erasure.finished", erasures=len(finished)))
        return True

    async def _scrubbed(self) -> bool:
        """Scrub, unless that was tried in vain a moment ago."""
        now = asyncio.get_running_loop().time()
        if now < self._next_try:
            return False
        try:
            done = await self._scrub()
            self.trouble = None if done else "forgotten text is still in the database's files: a reader holds them"
        except Exception as error:
            # The files may be locked, away or full; following the other facts must not wait for them.
            done = False
            self.trouble = f"forgotten text cannot be removed from the database's files ({type(error).__name__})"
            kind = type(error).__name__
            fields = about("files.not_scrubbed", error=kind)
            log.warning("the database's files could not be scrubbed (%s)", kind, extra=fields)
            log.debug("the database's files could not be scrubbed:\n%s", frames_of(error), extra=fields)
        self._wait = SHORTEST_WAIT if done else min(self._wait * 2, LONGEST_WAIT)
        self._next_try = 0.0 if done else now + self._wait
        return done
