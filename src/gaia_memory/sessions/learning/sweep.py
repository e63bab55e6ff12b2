"""Finds the conversations that went quiet and has each consolidated, oldest first, a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from gaia_memory.log import logger_for
from gaia_memory.models import Away, Due, Pending, SessionKey, SweepProgress, SweepReport
from gaia_memory.ports import Clock, Database, Ledger
from gaia_memory.sessions.learning.circuit_breaker import Reach
from gaia_memory.sessions.learning.consolidate import Consolidator, Outcome
from gaia_memory.sessions.learning.discovery import Discovery
from gaia_memory.sessions.transcript_registry import Transcripts
from gaia_memory.telemetry import TurnSpans, about, frames_of

logger = logger_for(__name__)

PARALLEL = 4
"""Conversations at work at once in one process, whoever sweeps: one slow model call does not stop the others."""

LOOK_SECONDS = 15.0
"""How long a sweep with something slow at work waits before it looks again for what has become due."""

_PAGE = 100

Progress = Callable[[SweepProgress], None]
"""Called whenever a conversation begins or ends."""


@dataclass(slots=True)
class _Run:
    """One sweep: what it has begun, and how that ended.

    `misses` is how often the model was missed before it, `known` how many conversations it found at first.
    """

    force: bool
    misses: int
    known: int = 0
    seen: set[SessionKey] = field(default_factory=set)
    tasks: set[asyncio.Task[Outcome]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def progress(self) -> SweepProgress:
        return SweepProgress(
            consolidated=self.counts["learned"] + self.counts["kept"],
            failed=self.counts["failed"],
            skipped=self.counts["skipped"],
            at_work=len(self.tasks),
            waiting=max(0, self.known - len(self.seen)),
        )


class Sweeper:
    """Sweeps the conversations whose transcript this process can read."""

    def __init__(
        self,
        *,
        database: Database,
        ledger: Ledger,
        transcripts: Transcripts,
        consolidator: Consolidator,
        turn_spans: TurnSpans,
        reach: Reach,
        clock: Clock,
        idle_seconds: Callable[[], float],
        is_wanted: Callable[[], Awaitable[bool]],
    ) -> None:
        """Take what is needed; idle time and whether to learn are asked for when they count."""
        self._database = database
        self._ledger = ledger
        self._transcripts = transcripts
        self._consolidator = consolidator
        self._turn_spans = turn_spans
        self._reach = reach
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._is_wanted = is_wanted
        self._discovery = Discovery(database, ledger, transcripts, clock)
        self._at_work: dict[str, asyncio.Task[Outcome]] = {}
        self._is_stopped = False

    async def sweep(self, *, force: bool = False, progress: Progress | None = None) -> SweepReport:
        """Consolidate every due conversation once, oldest first, and of each person one at a time.

        While the model is away it is asked about one conversation when its pause is over, or with `force` at
        once, and about the others only when that was answered. `force` also ignores idleness, back-off and
        parking, never an active turn. What waits all the same is counted as skipped: the model is away; and
        with `force` also where somebody is talking, another process is at it, or its sessions cannot be read here.
        A forced sweep also waits for what other sweeps of this process are at, which those count.
        """
        run = _Run(force=force, misses=self._reach.misses)
        if await self._goes_on():
            await self._discovery.look_back()
        await self._discovery.look()
        tell = progress or (lambda _: None)
        run.known = len(await self._waiting(run)) if progress is not None else 0
        try:
            while await self._goes_on() and await self._begin(run):
                tell(run.progress)
                if not await self._ended(run):
                    await self._discovery.look()
                tell(run.progress)
            while run.tasks:
                await self._ended(run)
                tell(run.progress)
            if force and self._at_work:
                # Whoever asks for it by hand wants learned what another sweep of this process is at, too.
                await asyncio.wait(self._at_work.values())
        finally:
            for task in run.tasks:
                task.cancel()
            await asyncio.gather(*run.tasks, return_exceptions=True)
        return await self._report(run)

    async def stop(self) -> None:
        """End every sweep, and take back what is at work: what it did not commit is learned later."""
        self._is_stopped = True
        for task in self._at_work.values():
            task.cancel()
        await asyncio.gather(*self._at_work.values(), return_exceptions=True)

    async def _goes_on(self) -> bool:
        return not self._is_stopped and await self._is_wanted()

    async def _begin(self, run: _Run) -> bool:
        """Begin what there is room for; False where nothing is at work, and nothing has to wait for what is."""
        were_at_work = bool(self._at_work)
        for key in await self._next(run):
            if not self._has_room_for(key):
                # Another sweep of this process was quicker.
                continue
            run.seen.add(key)
            task = asyncio.create_task(self._consolidate(key))
            self._at_work[key.user] = task
            task.add_done_callback(partial(self._make_room, key.user))
            run.tasks.add(task)
        if run.tasks or not were_at_work:
            return bool(run.tasks)
        # Another sweep has all the room, or learns from the same persons.
        return not self._gives_up(run) and bool(await self._due(run, limit=1, without=self._left_alone(run)))

    async def _next(self, run: _Run) -> list[SessionKey]:
        """Return what is to be begun now; where the model is away, one when nothing else is at work."""
        without = self._left_alone(run) | self._at_work.keys()
        if self._reach.away() is None:
            return await self._due(run, limit=self._room() - len(self._at_work), without=without)
        if self._at_work or self._gives_up(run):
            return []
        # The oldest may be one that is never answered; those that were not tried yet show more.
        others = await self._due(run, limit=1, without=without | self._reach.in_a_row)
        return others or await self._due(run, limit=1, without=without)

    def _make_room(self, person: str, _: asyncio.Task[Outcome]) -> None:
        del self._at_work[person]

    def _has_room_for(self, key: SessionKey) -> bool:
        return len(self._at_work) < self._room() and key.user not in self._at_work

    def _room(self) -> int:
        """Return how many may be at work: each that was in vain takes a place until an answer comes."""
        return max(1, PARALLEL - len(self._reach.in_a_row))

    def _gives_up(self, run: _Run) -> bool:
        """Say whether the model is not asked any more in this sweep: it is away, and that was seen a moment ago."""
        away = self._reach.away()
        if away is None:
            return False
        return self._reach.misses > run.misses if run.force else self._now() < away.until

    def _left_alone(self, run: _Run) -> set[str]:
        """Return the persons whose questions are in vain, though those of others are not."""
        return self._reach.in_vain_since(run.misses) if run.force else self._reach.resting(self._now())

    async def _due(self, run: _Run, *, limit: int, without: Collection[str]) -> list[SessionKey]:
        """Return due conversations that were not begun yet, oldest first, one a person and none of some persons."""
        if limit <= 0:
            return []
        found: dict[str, SessionKey] = {}
        after: Due | None = None
        size = limit + PARALLEL
        now = self._now()
        async with self._database.reading() as tx:
            while len(found) < limit:
                page = await self._ledger.due(
                    tx,
                    now=now,
                    quiet_since=None if run.force else now - self._idle_seconds(),
                    limit=size,
                    apps=self._transcripts.apps,
                    after=after,
                    without_persons=[*without, *found],
                )
                for due in page:
                    if due.key not in run.seen:
                        found.setdefault(due.key.user, due.key)
                if len(page) < size:
                    break
                after, size = page[-1], _PAGE
        return list(found.values())[:limit]

    async def _ended(self, run: _Run) -> bool:
        """Wait until something ends, but not long; say whether something of this sweep did, and count it."""
        tasks = run.tasks.union(self._at_work.values())
        if tasks:
            await asyncio.wait(tasks, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        ended = {task for task in run.tasks if task.done()}
        run.tasks -= ended
        run.counts.update("skipped" if task.cancelled() else task.result() for task in ended)
        return bool(ended)

    async def _consolidate(self, key: SessionKey) -> Outcome:
        try:
            with self._turn_spans.behind(key):
                return await self._consolidator.run(key, only_due=True)
        except Exception as error:
            # One conversation that breaks must not keep the others from being learned; it stays due.
            kind = type(error).__name__
            fields = about("conversation.broken", key, error=kind)
            logger.error("conversation %s could not be consolidated: %s", key.session, kind, extra=fields)
            logger.debug("conversation %s broke:\n%s", key.session, frames_of(error), extra=fields)
            return "failed"

    async def _report(self, run: _Run) -> SweepReport:
        away = self._away(run)
        skipped = run.counts["skipped"]
        if run.force or away is not None:
            skipped += len(await self._waiting(run))
        reason = away.reason if away is not None and skipped else ""
        learned = run.counts["learned"] + run.counts["kept"]
        return SweepReport(consolidated=learned, failed=run.counts["failed"], skipped=skipped, reason=reason)

    def _away(self, run: _Run) -> Away | None:
        away = self._reach.away()
        alone = [self._reach.away(person) for person in self._left_alone(run)] if away is None else []
        return away or next(iter(alone), None)

    async def _waiting(self, run: _Run) -> list[Pending]:
        """Return what this sweep should learn and has not begun."""
        async with self._database.reading() as tx:
            waiting = await self._ledger.pending(tx, user=None, app=None)
        return [each for each in waiting if each.key not in run.seen and (run.force or self._is_due(each))]

    def _is_due(self, waiting: Pending) -> bool:
        now = self._now()
        is_quiet = waiting.touched <= now - self._idle_seconds() and (waiting.retry_at or 0.0) <= now
        return is_quiet and not waiting.parked and waiting.key.app in self._transcripts.apps

    def _now(self) -> float:
        return self._clock.now().timestamp()
