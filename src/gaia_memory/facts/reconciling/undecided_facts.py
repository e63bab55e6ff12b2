"""The part of the fact store that queues facts to be compared, and knows what was compared."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, func, or_, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts import scopes, tables
from gaia_memory.facts.current import current
from gaia_memory.facts.identity.text_identity import normal_form
from gaia_memory.facts.rows import in_chunks, scope_of, to_epoch_seconds
from gaia_memory.facts.tables import compared_pairs, endings, facts, reconciling, undecided_facts
from gaia_memory.models import Fact, PairingState, UndecidedFact
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


class UndecidedFactsMixin(FactStore):
    """The part of the fact store that knows which facts are still to be compared with others of their scope."""

    @abstractmethod
    def _now(self) -> float:
        """Return the time of the store's clock, in seconds since the epoch."""

    @override
    async def queue_undecided(self, tx: Transaction, scope: Scope, undecided: Sequence[UndecidedFact]) -> None:
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

    @override
    async def undecided(self, tx: Transaction, scope: Scope) -> list[UndecidedFact]:
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

    @override
    async def count_undecided(self, tx: Transaction, scope: Scope) -> int:
        in_scope = undecided_facts.c.partition == scope.partition
        counted = func.count(undecided_facts.c.fact_id.distinct())
        return (await tx.execute(select(counted).where(in_scope))).scalar_one()

    @override
    async def last_undecided(self, tx: Transaction) -> int:
        return int((await tx.execute(select(func.coalesce(func.max(undecided_facts.c.row), 0)))).scalar_one())

    @override
    async def undecided_scopes(self, tx: Transaction, *, now: float, last: int) -> list[Scope]:
        queue, table = undecided_facts.c, tables.scopes
        is_due = queue.row <= last, or_(queue.retry_at.is_(None), queue.retry_at <= now)
        statement = select(table.c.app, table.c.user_id).join(table, table.c.partition == queue.partition)
        statement = statement.where(*is_due).group_by(table.c.app, table.c.user_id).order_by(func.min(queue.row))
        return [scope_of(row.app, row.user_id) for row in await tx.execute(statement)]

    @override
    async def drop_undecided(self, tx: Transaction, scope: Scope, row: int) -> None:
        is_meant = undecided_facts.c.partition == scope.partition, undecided_facts.c.row == row
        await tx.execute(delete(undecided_facts).where(*is_meant))

    @override
    async def postpone_undecided(self, tx: Transaction, scope: Scope, row: int, *, attempts: int, until: float) -> None:
        is_meant = undecided_facts.c.partition == scope.partition, undecided_facts.c.row == row
        await tx.execute(update(undecided_facts).where(*is_meant).values(attempts=attempts, retry_at=until))

    @override
    async def note_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> None:
        rows = [_pair_row(scope, fact, other) for other in others if other.id != fact.id]
        if rows:
            statement = scopes.dialect_insert(tx, compared_pairs)
            key = [compared_pairs.c.partition, compared_pairs.c.fact_id, compared_pairs.c.other_id]
            texts = {"texts": statement.excluded.texts}
            await tx.execute(statement.on_conflict_do_update(index_elements=key, set_=texts), rows)

    @override
    async def find_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> set[str]:
        pairs = compared_pairs.c
        is_either = or_(pairs.fact_id == fact.id, pairs.other_id == fact.id)
        is_of_fact = compared_pairs.c.partition == scope.partition, is_either
        rows = await tx.execute(select(pairs.fact_id, pairs.other_id, pairs.texts).where(*is_of_fact))
        known = {(row.fact_id, row.other_id): row.texts for row in rows}
        found = {other.id: _pair_row(scope, fact, other) for other in others}
        return {
            other_id for other_id, row in found.items() if known.get((row["fact_id"], row["other_id"])) == row["texts"]
        }

    @override
    async def count_compared(self, tx: Transaction, scope: Scope) -> int:
        in_scope = compared_pairs.c.partition == scope.partition
        return (await tx.execute(select(func.count()).select_from(compared_pairs).where(in_scope))).scalar_one()

    @override
    async def count_replaced(self, tx: Transaction, scope: Scope) -> int:
        is_meant = endings.c.partition == scope.partition, endings.c.why == "replaced", endings.c.undone_at.is_(None)
        return (await tx.execute(select(func.count()).select_from(endings).where(*is_meant))).scalar_one()

    @override
    async def scopes_to_pair(self, tx: Transaction, *, before: float, limit: int) -> list[Scope]:
        table, state = tables.scopes, reconciling.c
        joined = table.outerjoin(reconciling, state.partition == table.c.partition)
        is_changed = table.c.revision > func.coalesce(state.paired_revision, 0)
        is_due = or_(state.paired_at.is_(None), state.paired_at <= before)
        # Those that never were, first.
        order = func.coalesce(state.paired_at, 0.0), table.c.number
        statement = select(table.c.app, table.c.user_id).select_from(joined).where(is_changed, is_due).order_by(*order)
        return [scope_of(row.app, row.user_id) for row in await tx.execute(statement.limit(limit))]

    @override
    async def pairing_state(self, tx: Transaction, scope: Scope) -> PairingState:
        in_scope = reconciling.c.partition == scope.partition
        columns = reconciling.c.paired_at, reconciling.c.paired_revision
        row = (await tx.execute(select(*columns).where(in_scope))).one_or_none()
        if row is None:
            return PairingState()
        return PairingState(paired_at=row.paired_at, paired_revision=row.paired_revision)

    @override
    async def changed_facts(self, tx: Transaction, scope: Scope, *, since: int, limit: int) -> dict[str, int]:
        is_changed = facts.c.partition == scope.partition, facts.c.version > since
        statement = select(facts.c.id, facts.c.version).where(*is_changed, current(self._now()))
        statement = statement.order_by(facts.c.version, facts.c.row)
        return {row.id: row.version for row in await tx.execute(statement.limit(limit))}

    @override
    async def note_pairing(self, tx: Transaction, scope: Scope, state: PairingState) -> None:
        values = {"paired_at": state.paired_at, "paired_revision": state.paired_revision}
        statement = scopes.dialect_insert(tx, reconciling).values(partition=scope.partition, **values)
        await tx.execute(statement.on_conflict_do_update(index_elements=[reconciling.c.partition], set_=values))

    @override
    async def claim_reconciling(
        self, tx: Transaction, scope: Scope, owner: str, *, now: float, until: float, dead_owner: str | None = None
    ) -> str:
        lease = reconciling.c
        values: dict[str, Any] = {"owner": owner, "owned_until": until}
        statement = scopes.dialect_insert(tx, reconciling).values(partition=scope.partition, **values)
        is_free = or_(
            lease.owner.is_(None), lease.owned_until <= now, lease.owner == owner, lease.owner == (dead_owner or owner)
        )
        taken = {name: case((is_free, value), else_=lease[name]) for name, value in values.items()}
        statement = statement.on_conflict_do_update(index_elements=[lease.partition], set_=taken)
        return str((await tx.execute(statement.returning(lease.owner))).scalar_one())

    @override
    async def release_reconciling(self, tx: Transaction, scope: Scope, owner: str) -> None:
        is_ours = reconciling.c.partition == scope.partition, reconciling.c.owner == owner
        await tx.execute(update(reconciling).where(*is_ours).values(owner=None, owned_until=None))

    @override
    async def doubt(self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, since: datetime) -> int:
        found: list[str] = []
        for chunk in in_chunks(sorted(fact_ids)):
            is_meant = facts.c.partition == scope.partition, facts.c.id.in_(chunk), facts.c.in_doubt_since.is_(None)
            found += (await tx.execute(select(facts.c.id).where(*is_meant, current(self._now())))).scalars()
        if found:
            state = await scopes.bump_revision(tx, scope)
            values = {"in_doubt_since": to_epoch_seconds(since), "version": state.revision}
            for chunk in in_chunks(found):
                in_scope = facts.c.partition == scope.partition
                await tx.execute(update(facts).where(in_scope, facts.c.id.in_(chunk)).values(values))
            await scopes.mark_dirty(tx, sorted(found), state.revision)
        return len(found)


async def delete_comparisons(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
    """Delete what waits of these facts, and the pairs that they are part of."""
    for table in (undecided_facts, compared_pairs):
        for chunk in in_chunks(sorted(set(fact_ids))):
            is_part = or_(table.c.fact_id.in_(chunk), table.c.other_id.in_(chunk))
            await tx.execute(delete(table).where(table.c.partition == scope.partition, is_part))


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
