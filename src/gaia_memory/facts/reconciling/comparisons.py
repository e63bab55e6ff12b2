"""The queue of facts that wait to be compared, and what was compared already."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, func, or_, select, update

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts import scopes, tables
from gaia_memory.facts.current import current
from gaia_memory.facts.identity.text_identity import normal_form
from gaia_memory.facts.rows import change_in, scope_of, select_in, to_epoch_seconds
from gaia_memory.facts.tables import compared_pairs, endings, facts, reconciling, undecided_facts
from gaia_memory.models import Fact, PairingState, UndecidedFact

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Clock, Transaction


class Comparisons:
    """Queues facts that are still to be compared with others of their scope, and knows what was compared."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that says which facts have expired or not begun."""
        self._clock = clock

    async def queue_undecided(self, tx: Transaction, scope: Scope, undecided: Sequence[UndecidedFact]) -> None:
        """Add facts to the end of the queue; one that waits already keeps its place."""
        rows = [
            {
                "partition": scope.partition,
                "fact_id": each.fact_id,
                "other_id": each.other_id or "",
                "app": None if each.app is None else encode_id(each.app),
            }
            for each in undecided
        ]
        if rows:
            await tx.execute(scopes.dialect_insert(tx, undecided_facts).on_conflict_do_nothing(), rows)

    async def undecided(self, tx: Transaction, scope: Scope) -> list[UndecidedFact]:
        """Return all that waits in this scope, the first queued one first."""
        in_scope = undecided_facts.c.partition == scope.partition
        rows = await tx.execute(select(undecided_facts).where(in_scope).order_by(undecided_facts.c.row))
        return [
            UndecidedFact(
                fact_id=row.fact_id,
                other_id=row.other_id or None,
                app=None if row.app is None else decode_id(row.app),
                attempts=row.attempts,
                retry_at=row.retry_at,
                row=row.row,
            )
            for row in rows
        ]

    async def count_undecided(self, tx: Transaction, scope: Scope) -> int:
        """Count the facts of this scope that wait."""
        in_scope = undecided_facts.c.partition == scope.partition
        counted = func.count(undecided_facts.c.fact_id.distinct())
        return (await tx.execute(select(counted).where(in_scope))).scalar_one()

    async def last_undecided(self, tx: Transaction) -> int:
        """Return the last place in the queue of all scopes; 0 if nothing waits."""
        return int((await tx.execute(select(func.coalesce(func.max(undecided_facts.c.row), 0)))).scalar_one())

    async def undecided_scopes(self, tx: Transaction, *, now: float, last: int) -> list[Scope]:
        """Return the scopes with something due up to the place `last`, the first queued one first."""
        queue, table = undecided_facts.c, tables.scopes
        is_due = queue.row <= last, or_(queue.retry_at.is_(None), queue.retry_at <= now)
        statement = select(table.c.app, table.c.user_id).join(table, table.c.partition == queue.partition)
        statement = statement.where(*is_due).group_by(table.c.app, table.c.user_id).order_by(func.min(queue.row))
        return [scope_of(row.app, row.user_id) for row in await tx.execute(statement)]

    async def drop_undecided(self, tx: Transaction, scope: Scope, row: int) -> None:
        """Remove a row from the queue."""
        is_meant = undecided_facts.c.partition == scope.partition, undecided_facts.c.row == row
        await tx.execute(delete(undecided_facts).where(*is_meant))

    async def postpone_undecided(self, tx: Transaction, scope: Scope, row: int, *, attempts: int, until: float) -> None:
        """Leave a row in the queue, and out of what is due until then."""
        is_meant = undecided_facts.c.partition == scope.partition, undecided_facts.c.row == row
        await tx.execute(update(undecided_facts).where(*is_meant).values(attempts=attempts, retry_at=until))

    async def note_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> None:
        """Store that a model has compared a fact with others."""
        rows = [_pair_row(scope, fact, other) for other in others if other.id != fact.id]
        if rows:
            statement = scopes.dialect_insert(tx, compared_pairs)
            key = [compared_pairs.c.partition, compared_pairs.c.fact_id, compared_pairs.c.other_id]
            texts = {"texts": statement.excluded.texts}
            await tx.execute(statement.on_conflict_do_update(index_elements=key, set_=texts), rows)

    async def find_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> set[str]:
        """Return the ids of those others that a model has compared with a fact, both with their present texts."""
        pairs = compared_pairs.c
        is_either = or_(pairs.fact_id == fact.id, pairs.other_id == fact.id)
        is_of_fact = compared_pairs.c.partition == scope.partition, is_either
        rows = await tx.execute(select(pairs.fact_id, pairs.other_id, pairs.texts).where(*is_of_fact))
        known = {(row.fact_id, row.other_id): row.texts for row in rows}
        found = {other.id: _pair_row(scope, fact, other) for other in others}
        return {
            other_id for other_id, row in found.items() if known.get((row["fact_id"], row["other_id"])) == row["texts"]
        }

    async def count_compared(self, tx: Transaction, scope: Scope) -> int:
        """Count the pairs of facts that a model has compared."""
        in_scope = compared_pairs.c.partition == scope.partition
        return (await tx.execute(select(func.count()).select_from(compared_pairs).where(in_scope))).scalar_one()

    async def count_replaced(self, tx: Transaction, scope: Scope) -> int:
        """Count the endings of facts of this scope that another one has replaced."""
        is_meant = endings.c.partition == scope.partition, endings.c.why == "replaced", endings.c.undone_at.is_(None)
        return (await tx.execute(select(func.count()).select_from(endings).where(*is_meant))).scalar_one()

    async def scopes_to_pair(self, tx: Transaction, *, before: float, limit: int) -> list[Scope]:
        """Return scopes whose facts changed since they were compared in pairs, if that was not after `before`."""
        table, state = tables.scopes, reconciling.c
        joined = table.outerjoin(reconciling, state.partition == table.c.partition)
        is_changed = table.c.revision > func.coalesce(state.paired_revision, 0)
        is_due = or_(state.paired_at.is_(None), state.paired_at <= before)
        # Those that never were, first.
        order = func.coalesce(state.paired_at, 0.0), table.c.number
        statement = select(table.c.app, table.c.user_id).select_from(joined).where(is_changed, is_due).order_by(*order)
        return [scope_of(row.app, row.user_id) for row in await tx.execute(statement.limit(limit))]

    async def pairing_state(self, tx: Transaction, scope: Scope) -> PairingState:
        """Return how far the facts of a scope were compared in pairs."""
        in_scope = reconciling.c.partition == scope.partition
        columns = reconciling.c.paired_at, reconciling.c.paired_revision
        row = (await tx.execute(select(*columns).where(in_scope))).one_or_none()
        if row is None:
            return PairingState()
        return PairingState(paired_at=row.paired_at, paired_revision=row.paired_revision)

    async def changed_facts(self, tx: Transaction, scope: Scope, *, since: int, limit: int) -> dict[str, int]:
        """Return ids and versions of current facts with a version above `since`, the lowest versions first."""
        is_changed = facts.c.partition == scope.partition, facts.c.version > since
        statement = select(facts.c.id, facts.c.version).where(*is_changed, current(to_epoch_seconds(self._clock.now())))
        statement = statement.order_by(facts.c.version, facts.c.row)
        return {row.id: row.version for row in await tx.execute(statement.limit(limit))}

    async def note_pairing(self, tx: Transaction, scope: Scope, state: PairingState) -> None:
        """Store how far the facts of a scope were compared in pairs."""
        values = {"paired_at": state.paired_at, "paired_revision": state.paired_revision}
        statement = scopes.dialect_insert(tx, reconciling).values(partition=scope.partition, **values)
        await tx.execute(statement.on_conflict_do_update(index_elements=[reconciling.c.partition], set_=values))

    async def claim_reconciling(
        self, tx: Transaction, scope: Scope, owner: str, *, now: float, until: float, dead_owner: str | None = None
    ) -> str:
        """Take or renew the lease on comparing the facts of a scope; return who has it then.

        It stays with another owner until it runs out, unless that is `dead_owner`.
        """
        lease = reconciling.c
        values: dict[str, Any] = {"owner": owner, "owned_until": until}
        statement = scopes.dialect_insert(tx, reconciling).values(partition=scope.partition, **values)
        is_free = or_(
            lease.owner.is_(None), lease.owned_until <= now, lease.owner == owner, lease.owner == (dead_owner or owner)
        )
        taken = {name: case((is_free, value), else_=lease[name]) for name, value in values.items()}
        statement = statement.on_conflict_do_update(index_elements=[lease.partition], set_=taken)
        return str((await tx.execute(statement.returning(lease.owner))).scalar_one())

    async def release_reconciling(self, tx: Transaction, scope: Scope, owner: str) -> None:
        """Give the lease back."""
        is_ours = reconciling.c.partition == scope.partition, reconciling.c.owner == owner
        await tx.execute(update(reconciling).where(*is_ours).values(owner=None, owned_until=None))

    async def doubt(self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, since: datetime) -> int:
        """Mark current facts as in doubt unless they are already; return how many were marked."""
        is_certain = facts.c.partition == scope.partition, facts.c.in_doubt_since.is_(None)
        statement = select(facts.c.id).where(*is_certain, current(to_epoch_seconds(self._clock.now())))
        found = sorted(row.id for row in await select_in(tx, statement, facts.c.id, fact_ids))
        if found:
            state = await scopes.bump_revision(tx, scope)
            values = {"in_doubt_since": to_epoch_seconds(since), "version": state.revision}
            in_scope = facts.c.partition == scope.partition
            await change_in(tx, update(facts).where(in_scope).values(values), facts.c.id, found)
            await scopes.mark_dirty(tx, found, state.revision)
        return len(found)


async def delete_comparisons(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
    """Delete what waits of these facts, and the pairs that they are part of."""
    for table in (undecided_facts, compared_pairs):
        for column in (table.c.fact_id, table.c.other_id):
            await change_in(tx, delete(table).where(table.c.partition == scope.partition), column, set(fact_ids))


async def delete_all_comparisons(tx: Transaction, scope: Scope) -> None:
    """Delete all that waits in a scope, and all its pairs."""
    for table in (undecided_facts, compared_pairs):
        await tx.execute(delete(table).where(table.c.partition == scope.partition))


async def move_comparisons(tx: Transaction, scope: Scope, into: Scope) -> None:
    """Give what waits in a scope, and its pairs, to another scope that has got the facts."""
    for table in (undecided_facts, compared_pairs):
        in_scope = table.c.partition == scope.partition
        await tx.execute(update(table).where(in_scope).values(partition=into.partition))


def _pair_row(scope: Scope, one: Fact, other: Fact) -> dict[str, str]:
    first, second = sorted((one, other), key=lambda fact: fact.id)
    texts = "\0".join(normal_form(fact.text) for fact in (first, second))
    digest = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
    return {"partition": scope.partition, "fact_id": first.id, "other_id": second.id, "texts": digest}
