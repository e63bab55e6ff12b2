"""Announces what becomes due, each time once, however many processes do so."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING
from uuid import uuid4

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.facts.due_facts import Claim, DueFact
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import Fact, next_occurrence
from gaia_memory.ports import Clock
from gaia_memory.reminders.due_items import find_due_time, zone_of
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

logger = logger_for(__name__)

POLL_SECONDS = 5.0
"""How often a process looks for what has become due."""

LEASE = timedelta(seconds=30)
"""How long a process may take for one announcement before another one makes it."""

RETRY_DELAY = timedelta(seconds=60)
"""How long after a callback failed it is called again."""

LONGEST_DELAY = timedelta(days=7)
"""What became due longer ago, while nobody announced it, is only listed as overdue."""

ALL_DAY_TIME = time(9)
"""When a fact that is due on a day is announced, in its zone."""

_BATCH_FACTS = 200

_CLAIMED_FACTS = 50
"""Facts claimed in one transaction: if the process dies, these wait for the end of its lease."""

_CALLBACK_SHARE = 0.8
"""The share of a lease in which a callback must end; the rest is for claims before it, and the record after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A fact that has become due. `id` is the same if it has to be announced again after a crash.

    `fact.due_at` is the time at which it is due now; `fact.scope` says whose it is.
    """

    id: str
    fact: Fact


_Plan = tuple[DueFact, Claim]
"""A fact, and what to put on record of it."""

Announce = Callable[[Announcement], Awaitable[object] | object]
"""Tells the person; it has succeeded when it returns, or when what it returns was awaited."""


class Announcer:
    """Announces what becomes due for the users of an app.

    Several may run, in any number of processes: each time is claimed in the database before it is announced, and
    recorded afterwards. It is announced once, unless the process dies, or the database fails, between the two: then
    another one announces it again after `LEASE`, with the same id.
    """

    def __init__(
        self,
        stores: MemoryStores,
        clock: Clock,
        config: Callable[[], GaiaConfig],
        announce: Announce,
        *,
        lease: timedelta = LEASE,
    ) -> None:
        """Announce by calling `announce`, which gets less time than the `lease`."""
        self._stores = stores
        self._clock = clock
        self._config = config
        self._announce = announce
        self._lease = lease
        self._owner = uuid4().hex
        self._unrecorded: set[str] = set()

    async def run(self) -> None:
        """Announce what becomes due until it is cancelled."""
        is_reported = False
        while True:
            try:
                await self.announce_due()
                is_reported = False
            except MemoryUnavailable as error:
                if not is_reported:
                    logger.warning("nothing is announced: %s", error, extra=log_fields("due.unavailable"))
                is_reported = True
            await asyncio.sleep(POLL_SECONDS)

    async def announce_due(self) -> int:
        """Announce what is due now; return how many facts.

        Raises:
            MemoryUnavailable: the database does not answer.
        """
        config, announced = self._config(), 0
        while config.memory.enabled:
            now = self._clock.now()
            async with self._stores.database.read_transaction() as tx:
                found = await self._stores.facts.due_facts.to_announce(
                    tx, apps=[config.app], now=now, since=now - LONGEST_DELAY - timedelta(days=1), limit=_BATCH_FACTS
                )
            claims = await run_in_thread(self._plan, found, now, config.memory.zone) if found else []
            is_planned = bool(claims)
            while claims:
                done, claims = await self._announce_batch(claims[:_CLAIMED_FACTS], claims[_CLAIMED_FACTS:])
                announced += done
            if len(found) < _BATCH_FACTS or not is_planned:
                break
        return announced

    def _plan(self, found: list[DueFact], now: datetime, zone: tzinfo | None) -> Sequence[_Plan]:
        """Return what to claim, and what to put on record so that it is not looked at again before it is due."""
        claims: list[_Plan] = []
        for due in found:
            due_at = find_due_time(due.fact, now, zone)
            its_zone, first_at = zone_of(due.fact, zone), due.fact.due_at or now
            at = None if due_at is None else _announcement_time(due.fact, due_at, its_zone)
            if due_at is None or at is None or at > now:
                claims.append((due, Claim(due_at=due.claimed_for or due_at or first_at, next_at=at)))
                continue
            # Counted from the first time: a rule may say how often it occurs.
            following = next_occurrence(first_at, due.fact.every, its_zone, due_at) if due.fact.every else None
            next_at = None if following is None else _announcement_time(due.fact, following[0], its_zone)
            claim = Claim(due_at=due_at, next_at=next_at)
            if now - at <= LONGEST_DELAY and not (due.is_announced and due.claimed_for == due_at):
                claim = replace(claim, owner=self._owner, until=now + self._lease)
            claims.append((due, claim))
        return claims

    async def _announce_batch(self, batch: Sequence[_Plan], later: Sequence[_Plan]) -> tuple[int, Sequence[_Plan]]:
        """Claim facts at once, announce and record each; return how many, and what is left with `later`.

        What would not be announced before its lease ends is claimed again.
        """
        started_at = self._clock.now()
        claimed = await self._claim(batch, started_at)
        announced = 0
        for place, (due, claim) in enumerate(claimed):
            if place and self._clock.now() - started_at > self._lease * (1 - _CALLBACK_SHARE):
                await self._release(claimed[place:])
                return announced, [*claimed[place:], *later]
            announced += await self._announce_claimed(due, claim)
        return announced, later

    async def _claim(self, batch: Sequence[_Plan], now: datetime) -> list[_Plan]:
        """Put claims on record; return those of this process that count, in the same order."""
        claimed: dict[str, Claim] = {}
        async with self._stores.database.transaction() as tx:
            # Sorted: each locks the scope of its fact.
            for due, planned in sorted(batch, key=lambda each: each[0].fact.scope.partition):
                claim = planned if planned.owner is None else replace(planned, until=now + self._lease)
                is_claimed = await self._stores.facts.due_facts.claim_announcement(tx, due, claim, now=now)
                if is_claimed and claim.owner is not None:
                    claimed[due.fact.id] = claim
        return [(due, claimed[due.fact.id]) for due, _ in batch if due.fact.id in claimed]

    async def _release(self, claimed: Sequence[_Plan]) -> None:
        """Let anybody claim facts again at once."""
        now = self._clock.now()
        async with self._stores.database.transaction() as tx:
            for due, _ in claimed:
                await self._stores.facts.due_facts.finish_announcement(
                    tx, due.fact, self._owner, announced_at=None, retry_at=now
                )

    async def _announce_claimed(self, due: DueFact, claim: Claim) -> bool:
        """Announce and record a fact, unless it has changed since the look; return whether it was announced."""
        async with self._stores.database.read_transaction() as tx:
            known = await self._stores.facts.get(tx, due.fact.scope, [due.fact.id])
        if known.get(due.fact.id) != due.fact:
            await self._release([(due, claim)])
            return False
        fact = replace(due.fact, due_at=claim.due_at)
        announcement = Announcement(id=f"{fact.id}@{claim.due_at.isoformat()}", fact=fact)
        is_done = announcement.id in self._unrecorded or await self._tell(announcement)
        now = self._clock.now()
        if is_done:
            self._unrecorded.add(announcement.id)
        async with self._stores.database.transaction() as tx:
            await self._stores.facts.due_facts.finish_announcement(
                tx, fact, self._owner, announced_at=now if is_done else None, retry_at=now + RETRY_DELAY
            )
        self._unrecorded.discard(announcement.id)
        return is_done

    async def _tell(self, announcement: Announcement) -> bool:
        try:
            async with asyncio.timeout(self._lease.total_seconds() * _CALLBACK_SHARE):
                result = self._announce(announcement)
                if inspect.isawaitable(result):
                    await result
        except Exception as error:
            # The host's callback may fail in any way, and must not keep other facts from being announced.
            scope = announcement.fact.scope
            fields = log_fields("due.failed", scope, error=type(error).__name__)
            logger.error("a fact that is due could not be announced: %s", type(error).__name__, extra=fields)
            return False
        return True


def _announcement_time(fact: Fact, due_at: datetime, zone: tzinfo | None) -> datetime:
    if not fact.due_all_day:
        return due_at
    day = due_at.astimezone(zone).date()
    local = datetime.combine(day, ALL_DAY_TIME)
    return local.astimezone() if zone is None else local.replace(tzinfo=zone)
