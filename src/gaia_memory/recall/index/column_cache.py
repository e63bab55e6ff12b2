"""Caches the columns of scopes, each until the scope changes or a fact begins or expires."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.models import IndexedFact, Scope
from gaia_memory.ports import Clock, SystemClock
from gaia_memory.recall.index.bounded_cache import BoundedCache
from gaia_memory.recall.index.fact_columns import FactColumns, build_fact_columns
from gaia_memory.recall.index.valid_periods import find_valid, unchanged_period
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """The columns of a scope at `revision`: of all stored facts, and of those that hold in the period."""

    revision: int
    stored: FactColumns
    current: FactColumns
    period: tuple[float, float]


class ColumnCache:
    """The columns of each scope; after a change only new and changed facts are read from the database."""

    def __init__(self, database: Database, facts: FactStore, cache: BoundedCache, clock: Clock | None = None) -> None:
        self._database = database
        self._facts = facts
        self._clock = clock or SystemClock()
        self._cache = cache

    async def get(self, scope: Scope) -> FactColumns:
        """Return the columns of the current facts of a scope."""
        return (await self.get_all(scope))[1]

    async def get_all(self, scope: Scope) -> tuple[FactColumns, FactColumns]:
        """Return the columns of all stored facts of a scope, and of those among them that hold now."""
        entry, now = await self._load(scope), self._clock.now().timestamp()
        if not entry.period[0] <= now < entry.period[1]:
            entry = await run_in_thread(_at_time, entry.revision, entry.stored, now)
            self._cache.put(("columns", scope), entry)
        return entry.stored, entry.current

    async def _load(self, scope: Scope) -> _CacheEntry:
        entry: _CacheEntry | None = self._cache.get(("columns", scope))
        if entry is not None:
            async with self._database.single_statement(only_reads=True) as tx:
                if (await self._facts.state(tx, scope)).revision == entry.revision:
                    return entry
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            changed = await self._facts.indexed_facts(tx, scope, since_revision=-1 if entry is None else entry.revision)
            cached = stored_ids = None
            if entry is not None:
                cached = entry.stored
                count = await self._facts.count(tx, scope, all_stored=True)
                if await run_in_thread(_count_merged, cached, changed) != count:
                    stored_ids = await self._facts.ids(tx, scope)
        columns = await run_in_thread(_refresh, cached, changed, stored_ids)
        entry = await run_in_thread(_at_time, revision, columns, self._clock.now().timestamp())
        self._cache.put(("columns", scope), entry)
        return entry


def _at_time(revision: int, stored: FactColumns, now: float) -> _CacheEntry:
    is_valid = find_valid(stored.valid_from, stored.valid_until, now)
    current = stored if is_valid is None else stored.select(np.flatnonzero(is_valid))
    return _CacheEntry(revision, stored, current, unchanged_period(stored.valid_from, stored.valid_until, now))


def _count_merged(cached: FactColumns, changed: Sequence[IndexedFact]) -> int:
    """Return the number of facts in the cached columns and the changed facts together."""
    return len(cached) + len(changed) - len(cached.known_indices([fact.id for fact in changed]))


def _refresh(
    cached: FactColumns | None, changed: Sequence[IndexedFact], stored_ids: Collection[str] | None
) -> FactColumns:
    """Return the cached columns with the changed facts, limited to `stored_ids` unless that is None."""
    new = build_fact_columns(changed)
    if cached is None:
        return new
    is_kept = np.ones(len(cached), dtype=bool)
    if stored_ids is not None:
        is_kept[:] = False
        is_kept[cached.known_indices(stored_ids)] = True
    is_kept[cached.known_indices([fact.id for fact in changed])] = False
    unchanged = cached if is_kept.all() else cached.select(np.flatnonzero(is_kept))
    return unchanged.concat(new)
