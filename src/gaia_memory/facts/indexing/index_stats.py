"""Statistics of a scope that a keyword search needs: its number in the index, its facts and their length."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.facts.current import current
from gaia_memory.facts.tables import facts, scopes
from gaia_memory.models import Scope

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

MAX_CACHED_SCOPES = 1_000
"""Scopes whose statistics are cached, five values each."""


@dataclass(frozen=True, slots=True)
class IndexStats:
    """A scope in the keyword index: `fact_count` facts of `average_words` words each."""

    partition: str
    number: int
    revision: int
    fact_count: int
    average_words: float


class IndexStatsCache:
    """Counts the facts of a scope once per revision: counting 100,000 takes longer than finding the best of them."""

    def __init__(self) -> None:
        self._cache: OrderedDict[str, IndexStats] = OrderedDict()

    async def stats(self, tx: Transaction, scope: Scope) -> IndexStats | None:
        """Return the statistics of a scope in this transaction; None for an unknown scope."""
        statement = select(scopes.c.number, scopes.c.revision, scopes.c.salt).where(
            scopes.c.partition == scope.partition
        )
        row = (await tx.execute(statement)).one_or_none()
        if row is None:
            return None
        # The salt identifies this scope of this database.
        cached = self._cache.get(row.salt)
        if cached is None or cached.revision != row.revision:
            cached = await measure(tx, scope.partition, row.number, row.revision)
            connection = tx.sync_connection
            # A write transaction may be rolled back, and its revision used again for another state.
            if connection is not None and connection.get_execution_options().get(READ_ONLY_OPTION):
                self._remember(row.salt, cached)
        return cached

    def _remember(self, salt: str, stats: IndexStats) -> None:
        self._cache[salt] = stats
        self._cache.move_to_end(salt)
        while len(self._cache) > MAX_CACHED_SCOPES:
            self._cache.popitem(last=False)


async def measure(tx: Transaction, partition: str, number: int, revision: int = 0) -> IndexStats:
    """Count the facts of a scope and their words."""
    statement = select(func.count(), func.avg(facts.c.words)).where(facts.c.partition == partition, current())
    total, average = (await tx.execute(statement)).one()
    return IndexStats(partition, number, revision, total, max(1.0, float(average or 0)))
