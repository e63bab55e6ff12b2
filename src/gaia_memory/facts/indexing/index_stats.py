"""What a search by words has to know of a scope: its number in the index, and how much the index holds of it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from gaia_memory.database.sqlite import READ_ONLY
from gaia_memory.facts.tables import facts, scopes
from gaia_memory.models import Scope

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

KEPT = 1_000
"""Scopes whose size is kept, three numbers each."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A scope as the keyword index knows it: `facts` of `words` words each, on average."""

    partition: str
    number: int
    revision: int
    facts: int
    words: float


class Sizes:
    """Counts the facts of a scope once a revision: to count 100,000 takes longer than to find the best of them."""

    def __init__(self) -> None:
        """Know no scope yet."""
        self._kept: OrderedDict[str, Indexed] = OrderedDict()

    async def indexed(self, tx: Transaction, scope: Scope) -> Indexed | None:
        """Return the scope as it stands in this transaction; None where it is not known."""
        named = select(scopes.c.number, scopes.c.revision, scopes.c.salt).where(scopes.c.partition == scope.partition)
        row = (await tx.execute(named)).one_or_none()
        if row is None:
            return None
        # The salt is of this scope in this database alone.
        kept = self._kept.get(row.salt)
        if kept is None or kept.revision != row.revision:
            kept = await measured(tx, scope.partition, row.number, row.revision)
            connection = tx.sync_connection
            # The revision of a writer that is rolled back will be that of another one.
            if connection is not None and connection.get_execution_options().get(READ_ONLY):
                self._keep(row.salt, kept)
        return kept

    def _keep(self, salt: str, indexed: Indexed) -> None:
        self._kept[salt] = indexed
        self._kept.move_to_end(salt)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


async def measured(tx: Transaction, partition: str, number: int, revision: int = 0) -> Indexed:
    """Count what the index holds of a scope."""
    statement = select(func.count(), func.avg(facts.c.words)).where(facts.c.partition == partition)
    total, average = (await tx.execute(statement)).one()
    return Indexed(partition, number, revision, total, max(1.0, float(average or 0)))
