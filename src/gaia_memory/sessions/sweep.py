"""Finds the conversations that went quiet and has each consolidated, oldest first, a few at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable

from gaia_memory.models import SessionKey, SweepReport
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.sessions.consolidate import Consolidator, Outcome
from gaia_memory.sessions.transcripts import Transcripts

logger = logging.getLogger(__name__)

PARALLEL = 4
"""Conversations at work at once in one process: one slow model call does not stop the others."""

_PAGE = 100

Progress = Callable[[int, int], None]
"""Called with the conversations done and the conversations found so far."""


class Sweeper:
    """Sweeps the conversations whose transcript this process can read."""

    def __init__(
        self,
        *,
        database: Database,
        ledger: Ledger,
        transcripts: Transcripts,
        consolidator: Consolidator,
        clock: Clock,
        idle_seconds: Callable[[], float],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Take what is needed; idle time and whether to learn are asked for when they count."""
        self._database = database
        self._ledger = ledger
        self._transcripts = transcripts
        self._consolidator = consolidator
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._is_wanted = is_wanted

    async def sweep(self, *, force: bool = False, progress: Progress | None = None) -> SweepReport:
        """Consolidate every due conversation once.

        `force` ignores idleness, back-off and parking, never an active turn; it counts as skipped what waits
        all the same: somebody is talking, somebody else is at it, or its sessions cannot be read here.
        """
        await self._reach()
        await self._bootstrap()
        counts: Counter[str] = Counter()
        seen: set[SessionKey] = set()
        running: set[asyncio.Task[Outcome]] = set()
        try:
            async for key in self._due(force, seen):
                running.add(asyncio.create_task(self._consolidate(key)))
                if len(running) >= PARALLEL:
                    running = await _collect(running, counts)
                _tell(progress, counts, len(seen))
            while running:
                running = await _collect(running, counts)
                _tell(progress, counts, len(seen))
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if force:
            counts["skipped"] += await self._left_out(seen)
        learned = counts["learned"] + counts["kept"]
        return SweepReport(consolidated=learned, failed=counts["failed"], skipped=counts["skipped"])

    async def _left_out(self, seen: set[SessionKey]) -> int:
        async with self._database.reading() as tx:
            waiting = await self._ledger.pending(tx, user=None, app=None)
        return sum(pending.key not in seen for pending in waiting)

    async def _due(self, force: bool, seen: set[SessionKey]) -> AsyncIterator[SessionKey]:
        """Yield due conversations, oldest first, each once: one that fails stays due in a forced sweep."""
        while True:
            now = self._clock.now().timestamp()
            async with self._database.reading() as tx:
                page = await self._ledger.due(
                    tx,
                    now=now,
                    quiet_since=None if force else now - self._idle_seconds(),
                    limit=_PAGE + len(seen),
                    apps=self._transcripts.apps,
                )
            fresh = [key for key in page if key not in seen]
            if not fresh:
                return
            for key in fresh:
                seen.add(key)
                yield key

    async def _reach(self) -> None:
        """Find the sessions of apps that wait and have no host in this process."""
        if not self._transcripts.looks_further:
            return
        async with self._database.reading() as tx:
            waiting = await self._ledger.waiting_elsewhere(tx, apps=self._transcripts.apps)
        await self._transcripts.reach(waiting)

    async def _bootstrap(self) -> None:
        """Enter the sessions that were there before us, once an app."""
        for app in self._transcripts.apps:
            async with self._database.reading() as tx:
                if await self._ledger.bootstrapped(tx, app):
                    continue
            sessions: dict[SessionKey, float] = {}
            try:
                for transcript in self._transcripts.of(app):
                    sessions |= await transcript.sessions()
            except Exception as error:
                # A host's session service that is away must not keep other apps from being learned.
                logger.error("the sessions of app %s cannot be listed yet: %s", app, type(error).__name__)
                continue
            async with self._database.transaction() as tx:
                await self._ledger.bootstrap(tx, app, sessions)

    async def _consolidate(self, key: SessionKey) -> Outcome:
        if not self._is_wanted():
            # It was switched off since the sweep began.
            return "skipped"
        try:
            return await self._consolidator.run(key)
        except Exception as error:
            # One conversation that breaks must not keep the others from being learned; it stays due.
            logger.error("conversation %s could not be consolidated: %s", key.session, type(error).__name__)
            logger.debug("conversation %s could not be consolidated", key.session, exc_info=True)
            return "failed"


async def _collect(running: set[asyncio.Task[Outcome]], counts: Counter[str]) -> set[asyncio.Task[Outcome]]:
    done, rest = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    counts.update(task.result() for task in done)
    return rest


def _tell(progress: Progress | None, counts: Counter[str], found: int) -> None:
    if progress is not None:
        progress(counts.total(), found)
