"""The log of what happened to facts: written with each change, read by whoever follows a scope."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select
from typing_extensions import override

from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import changes
from gaia_memory.models import FactChange
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import ChangeKind, Scope
    from gaia_memory.ports import Transaction


class ChangeLogMixin(FactStore):
    """The part of the fact store that lists changes."""

    @override
    async def changes(self, tx: Transaction, scope: Scope, *, after: int, limit: int) -> list[FactChange]:
        is_later = changes.c.partition == scope.partition, changes.c.number > after
        rows = (await tx.execute(select(changes).where(*is_later).order_by(changes.c.number).limit(limit))).all()
        found = await self.get(tx, scope, {row.fact_id for row in rows if row.fact_id is not None})
        return [
            FactChange(number=row.number, kind=row.kind, fact_id=row.fact_id, fact=found.get(row.fact_id))
            for row in rows
        ]

    @override
    async def last_change(self, tx: Transaction, scope: Scope) -> int:
        latest = select(func.max(changes.c.number)).where(changes.c.partition == scope.partition)
        return (await tx.execute(latest)).scalar_one() or 0


async def log_changes(tx: Transaction, partition: str, kind: ChangeKind, fact_ids: Iterable[str | None]) -> None:
    """Note what happened to facts of a scope, which the transaction has locked."""
    for chunk in in_chunks(fact_ids):
        rows = [{"partition": partition, "fact_id": fact_id, "kind": kind} for fact_id in chunk]
        await tx.execute(insert(changes), rows)


async def drop_changes(tx: Transaction, partition: str, fact_id: str | None = None) -> None:
    """Remove what happened to a fact, or to all of a scope, from the log."""
    statement = delete(changes).where(changes.c.partition == partition)
    await tx.execute(statement if fact_id is None else statement.where(changes.c.fact_id == fact_id))
