"""The facts that a question is compared with: the current ones, those of another time, or all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.distinctive_words import mentions
from gaia_memory.models import Fact, FactPredicate, PastIndex, PointInTime, Scope
from gaia_memory.ports import Embedder
from gaia_memory.recall.index.column_cache import ColumnCache
from gaia_memory.recall.index.fact_columns import FactColumns, build_fact_columns
from gaia_memory.recall.index.word_matches import MAX_WORD_MATCHES, ids_by_words
from gaia_memory.recall.visibility import Visibility
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore


@dataclass(frozen=True, slots=True)
class FactPool:
    """Facts of a scope as columns; `allowed` are the same columns, or None if they are those of all stored facts.

    `past` are the facts that ended, if these are searched, too.
    """

    columns: FactColumns
    allowed: FactColumns | None = None
    past: PastIndex | None = None

    def by_trust(self) -> list[FactPool]:
        """Return pools of the confirmed and of the unconfirmed facts; without one of these, only this pool."""
        tiers = self.columns.by_trust
        return [self] if len(tiers) == 1 else [FactPool(each, each, self.past) for each in tiers]


class FactPools:
    """Reads the facts of a scope for one question."""

    def __init__(self, database: Database, facts: FactStore, columns: ColumnCache, embedder: Embedder) -> None:
        self._database = database
        self._facts = facts
        self._columns = columns
        self._embedder = embedder

    async def load(
        self, scope: Scope, visibility: Visibility, predicate: FactPredicate | None, moment: PointInTime | None
    ) -> FactPool:
        """Return the facts that a question may see: the current ones, or those that held at a time."""
        stored, current = await self._columns.get_all(scope)
        if moment is not None:
            return await self._load_as_of(scope, stored, visibility, predicate, moment)
        columns = await self._visible(scope, current, visibility)
        if predicate is not None:
            async with self._database.read_transaction() as tx:
                matching = await self._facts.ids_matching(tx, scope, predicate)
            columns = columns.select(np.sort(columns.known_indices(matching)))
        return FactPool(columns, None if columns is stored else columns)

    async def load_everything(self, scope: Scope, visibility: Visibility) -> FactPool:
        """Return the facts that a question may see, whether they are stored or have ended."""
        stored, _ = await self._columns.get_all(scope)
        async with self._database.read_transaction() as tx:
            past = await self._facts.past.past_index(tx, scope, self._embedder.identity)
        columns = await self._visible(scope, await run_in_thread(_with_past, stored, past), visibility)
        return FactPool(columns, columns, past)

    async def get(self, scope: Scope, fact_ids: Collection[str], pool: FactPool) -> dict[str, Fact]:
        """Return those of these facts that still exist: current ones or, in a pool with past facts, any."""
        if pool.past is None:
            async with self._database.single_statement(only_reads=True) as tx:
                return await self._facts.get(tx, scope, fact_ids)
        async with self._database.read_transaction() as tx:
            return await self._facts.past.get_any(tx, scope, fact_ids)

    async def _load_as_of(
        self,
        scope: Scope,
        stored: FactColumns,
        visibility: Visibility,
        predicate: FactPredicate | None,
        moment: PointInTime,
    ) -> FactPool:
        async with self._database.read_transaction() as tx:
            held_ids: Collection[str] = await self._facts.past.ids_as_of(tx, scope, moment)
            if predicate is not None:
                held = await self._facts.past.get_any(tx, scope, held_ids)
                held_ids = [fact_id for fact_id, fact in held.items() if predicate(fact)]
            past = await self._facts.past.past_index(tx, scope, self._embedder.identity)
        columns = await run_in_thread(_with_past, stored, past)
        columns = columns.select(np.sort(columns.known_indices(held_ids)))
        columns = await self._visible(scope, columns, visibility)
        return FactPool(columns, columns, past)

    async def _visible(self, scope: Scope, columns: FactColumns, visibility: Visibility) -> FactColumns:
        named_ids: list[str] = []
        if visibility.person_said and not visibility.include_sensitive:
            sensitive = visibility.sensitive_facts(columns)
            found = await run_in_thread(ids_by_words, sensitive, visibility.person_said, MAX_WORD_MATCHES)
            async with self._database.read_transaction() as tx:
                facts = await self._facts.past.get_any(tx, scope, found)
            named_ids = [each.id for each in facts.values() if mentions(visibility.person_said, each.text)]
        return await run_in_thread(visibility.apply, columns, named_ids)


def _with_past(stored: FactColumns, past: PastIndex) -> FactColumns:
    # One that ended after the stored facts were read is in both.
    known = stored.indices_of([fact.id for fact in past.facts]).tolist()
    new = [fact for fact, index in zip(past.facts, known, strict=True) if index < 0]
    return stored.concat(build_fact_columns(new)) if new else stored
