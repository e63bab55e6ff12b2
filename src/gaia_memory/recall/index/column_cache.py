"""Caches the columns of the scopes that were asked last, each until the scope changes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from gaia_memory.models import IndexedFact, Scope
from gaia_memory.ports import Database, FactStore
from gaia_memory.recall.index.fact_columns import FactColumns, build_fact_columns

MAX_CACHED_FACTS = 100_000
"""Facts of all cached scopes together, at some 250 bytes each; one larger scope is cached alone."""


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    revision: int
    columns: FactColumns


class ColumnCache:
    """The columns of each scope; after a change only new and changed facts are read from the database."""

    def __init__(self, database: Database, facts: FactStore) -> None:
        self._database = database
        self._facts = facts
        self._entries: OrderedDict[Scope, _CacheEntry] = OrderedDict()

    async def get(self, scope: Scope) -> FactColumns:
        """Return the current columns of a scope."""
        async with self._database.read_transaction() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            entry = self._entries.get(scope)
            if entry is not None and entry.revision == revision:
                self._entries.move_to_end(scope)
                return entry.columns
            count = await self._facts.count(tx, scope)
            cached = None if entry is None else entry.columns
            changed = await self._facts.indexed_facts(tx, scope, since_revision=-1 if entry is None else entry.revision)
            has_no_deletions = cached is None or await asyncio.to_thread(_count_merged, cached, changed) == count
            current_ids = None if has_no_deletions else await self._facts.ids(tx, scope)
        columns = await asyncio.to_thread(_refresh, cached, changed, current_ids)
        self._store(scope, _CacheEntry(revision, columns))
        return columns

    def _store(self, scope: Scope, entry: _CacheEntry) -> None:
        self._entries[scope] = entry
        self._entries.move_to_end(scope)
        total = sum(len(each.columns) for each in self._entries.values())
        while total > MAX_CACHED_FACTS and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            total -= len(oldest.columns)


def _count_merged(cached: FactColumns, changed: Sequence[IndexedFact]) -> int:
    """Return the number of facts in the cached columns and the changed facts together."""
    return len(cached) + len(changed) - len(cached.known_indices([fact.id for fact in changed]))


def _refresh(
    cached: FactColumns | None, changed: Sequence[IndexedFact], current_ids: Collection[str] | None
) -> FactColumns:
    """Return the cached columns with the changed facts, limited to `current_ids` unless that is None."""
    new = build_fact_columns(changed)
    if cached is None:
        return new
    is_kept = np.ones(len(cached), dtype=bool)
    if current_ids is not None:
        is_kept[:] = False
        is_kept[cached.known_indices(current_ids)] = True
    is_kept[cached.known_indices([fact.id for fact in changed])] = False
    unchanged = cached if is_kept.all() else cached.select(np.flatnonzero(is_kept))
    return unchanged.concat(new)
