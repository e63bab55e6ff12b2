"""The part of `Memory` that tells about a person's facts as a whole."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING

from gaia_memory.models import DayCounts, Fact, FactChange, FactCounts, Page, Scope
from gaia_memory.models.validation import require_int
from gaia_memory.ports import Clock
from gaia_memory.recall.browse import MAX_PAGE_FACTS, require_page

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

MAX_CHANGES = 500
MAX_TIMELINE_DAYS = 366


class MemoryOverviewMixin:
    """Returns counts, days and changes; asks no model."""

    clock: Clock
    stores: MemoryStores

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    async def owner(self, fact_id: str) -> Scope | None:
        """Return whose fact this is, current or past; None for an unknown id."""
        self.stores.database.require_open()
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.owner(tx, fact_id)

    async def fact(self, scope: Scope, fact_id: str) -> Fact | None:
        """Return a current fact by its id; None for an unknown or foreign one, and for one that ended."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return (await self.stores.facts.get(tx, scope, [fact_id])).get(fact_id)

    async def containing(self, scope: Scope, words: str, *, offset: int = 0, limit: int = MAX_PAGE_FACTS) -> Page:
        """Return a page of the facts whose text contains each of these words or parts of words, oldest first.

        Raises:
            InvalidInputError: `offset` is below 0, or `limit` is not from 1 to 100.
        """
        await self._require(scope)
        require_page(offset, limit)
        facts = self.stores.facts
        async with self.stores.database.read_transaction() as tx:
            ids = await facts.ids_containing(tx, scope, words.split())
            found = await facts.get(tx, scope, shown := ids[offset : offset + limit])
        return Page(facts=tuple(found[each] for each in shown), total=len(ids), offset=offset)

    async def stats(self, scope: Scope) -> FactCounts:
        """Return how many facts there are by category, context, source, agent and day."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.counts(tx, scope)

    async def timeline(self, scope: Scope, *, days: int = 30) -> list[DayCounts]:
        """Return how many statements were stored and ended on each of the last `days`, today included; UTC.

        Raises:
            InvalidInputError: `days` is not from 1 to 366.
        """
        await self._require(scope)
        fix = f"pass 1 to {MAX_TIMELINE_DAYS}"
        require_int("days", days, minimum=1, maximum=MAX_TIMELINE_DAYS, fix=fix)
        now = self.clock.now()
        since = now - timedelta(days=days - 1)
        async with self.stores.database.read_transaction() as tx:
            known = {each.day: each for each in await self.stores.facts.days(tx, scope, since=since)}
        dates = [(since + timedelta(days=number)).date() for number in range(days)]
        return [known.get(day, DayCounts(day=day)) for day in dates]

    async def changes(self, scope: Scope, *, after: int, limit: int = MAX_CHANGES) -> list[FactChange]:
        """Return what happened to the facts after the change with the number `after`, oldest first.

        0 begins with the first change that was noted. Every process that writes notes its changes.

        Raises:
            InvalidInputError: `after` is below 0, or `limit` is not from 1 to 500.
        """
        await self._require(scope, enabled=False)
        require_int("after", after, minimum=0, maximum=2**63 - 1, fix="pass the number of a change, or 0")
        require_int("limit", limit, minimum=1, maximum=MAX_CHANGES, fix=f"pass 1 to {MAX_CHANGES}")
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.changes(tx, scope, after=after, limit=limit)

    async def last_change(self, scope: Scope) -> int:
        """Return the number of the latest change, 0 if there is none."""
        await self._require(scope, enabled=False)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.last_change(tx, scope)
