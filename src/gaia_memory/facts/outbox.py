"""The outbox over SQL: the facts that the mem0 store has not followed yet, and which store that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, or_, select, text, tuple_, update

from gaia_memory.facts import tables
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.rows import (
    VECTORS_PER_STATEMENT,
    change_in,
    fact_of,
    in_chunks,
    pack_vector,
    scope_of,
    select_in,
    unpack_vector,
)
from gaia_memory.facts.scopes import bump_revisions, mark_dirty
from gaia_memory.facts.scopes import dialect_insert as insert_or
from gaia_memory.facts.tables import facts, outbox, scopes, store, tool_changes
from gaia_memory.models import DirtyFact, StoredFact, StoreState

if TYPE_CHECKING:
    from datetime import datetime

    from gaia_memory.models import Scope, Vector
    from gaia_memory.ports import Transaction


class Outbox:
    """The outbox in the tables of the memory database. It keeps no state: all of it comes with `tx`."""

    async def store(self, tx: Transaction) -> StoreState:
        """Return the current store, its lag and its owner."""
        row = (await tx.execute(select(store))).one()
        return StoreState(
            store_id=row.store_id,
            owner=row.owner,
            lag=(await tx.execute(select(func.count()).select_from(outbox))).scalar_one(),
            erasures=(await tx.execute(select(func.count()).select_from(tables.erasures))).scalar_one(),
            erase_at=(await tx.execute(select(func.min(tool_changes.c.erase_at)))).scalar_one(),
        )

    async def dirty(self, tx: Transaction, *, limit: int) -> list[DirtyFact]:
        """Return the oldest dirty ids."""
        statement = select(outbox.c.fact_id, outbox.c.version).order_by(outbox.c.place).limit(limit)
        return [DirtyFact(fact_id=row.fact_id, version=row.version) for row in await tx.execute(statement)]

    async def count_dirty(self, tx: Transaction, *, up_to: int | None) -> tuple[int, int]:
        """Count the dirty ids up to a place in the outbox (None: all); return the last of their places as well.

        A later change of a dirty id keeps its place.
        """
        statement = select(func.count(), func.coalesce(func.max(outbox.c.place), 0))
        if up_to is not None:
            statement = statement.where(outbox.c.place <= up_to)
        count, last = (await tx.execute(statement)).one()
        return count, last

    async def load_facts(self, tx: Transaction, fact_ids: Collection[str]) -> dict[str, StoredFact]:
        """Return the stored facts with these ids, of any scope, with their vectors."""
        joined = facts.join(scopes, scopes.c.partition == facts.c.partition)
        statement = select(facts, scopes.c.app, scopes.c.user_id).select_from(joined).where(current_or_past())
        return {
            row.id: StoredFact(
                fact=fact_of(row, scope_of(row.app, row.user_id)),
                version=row.version,
                vector=None if row.vector is None else unpack_vector(row.vector),
                embedder=row.embedder,
            )
            for row in await select_in(tx, statement, facts.c.id, fact_ids)
        }

    async def copies(
        self, tx: Transaction, embedder: str, now: datetime
    ) -> tuple[set[str], dict[str, tuple[str, str]], set[str]]:
        """Return the ids of all facts, text and mem0's user of those in the store of `embedder`, and the dirty ids."""
        known = set((await tx.execute(select(facts.c.id).where(current_or_past()))).scalars())
        is_copied = facts.c.vector.is_not(None) & (facts.c.embedder == embedder)
        joined = facts.join(scopes, scopes.c.partition == facts.c.partition)
        columns = facts.c.id, facts.c.text, scopes.c.app, scopes.c.user_id
        statement = select(*columns).select_from(joined).where(is_copied, current(now.timestamp()))
        rows = (await tx.execute(statement)).all()
        users = {key: scope_of(*key).mem0_user_id for key in {(row.app, row.user_id) for row in rows}}
        copied = {row.id: (row.text, users[row.app, row.user_id]) for row in rows}
        return known, copied, set((await tx.execute(select(outbox.c.fact_id))).scalars())

    async def mark(self, tx: Transaction, fact_ids: Collection[str]) -> None:
        """Put ids into the outbox, whose copies differ from the database."""
        await mark_dirty(tx, sorted(fact_ids), 0)

    async def acknowledge(self, tx: Transaction, rows: Iterable[DirtyFact]) -> int:
        """Remove rows whose version is unchanged; return how many were removed."""
        removed = 0
        for chunk in in_chunks(sorted((row.fact_id, row.version) for row in rows)):
            is_acknowledged = tuple_(outbox.c.fact_id, outbox.c.version).in_(chunk)
            if tx.dialect.name == "postgresql":
                # Locks the rows in the order of all writers, which prevents deadlocks.
                await tx.execute(
                    select(outbox.c.place).where(is_acknowledged).order_by(outbox.c.fact_id).with_for_update()
                )
            removed += (await tx.execute(delete(outbox).where(is_acknowledged))).rowcount
        return removed

    async def backfill_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> None:
        """Store vectors of `embedder` for facts that lack one, each only while its version is unchanged.

        Versions stay. The revision of the scopes rises, because caches of their vectors are outdated.
        """
        partitions: set[str] = set()
        for chunk in in_chunks(vectors, size=VECTORS_PER_STATEMENT):
            pairs = sorted((row.fact_id, row.version) for row in chunk)
            is_unchanged = tuple_(facts.c.id, facts.c.version).in_(pairs)
            statement = select(facts.c.partition).where(is_unchanged, current_or_past()).distinct()
            partitions.update((await tx.execute(statement)).scalars())
        if not partitions:
            return
        # Every writer locks the scope first. Caches of its vectors are keyed by the revision.
        await bump_revisions(tx, list(partitions))
        update_statement = (
            update(facts)
            .where(facts.c.id == bindparam("of_id"), facts.c.version == bindparam("of_version"))
            .values(vector=bindparam("packed"), embedder=embedder)
        )
        await tx.execute(
            update_statement,
            [
                {"of_id": row.fact_id, "of_version": row.version, "packed": pack_vector(vector)}
                for row, vector in sorted(vectors.items(), key=lambda item: item[0].fact_id)
            ],
        )

    async def reset_store(self, tx: Transaction, store_id: str) -> None:
        """Make `store_id`, an empty store, the current one: every current fact becomes dirty, other ids leave."""
        if tx.dialect.name == "postgresql":
            # This takes all rows, while other writers lock theirs in an order of their own.
            await tx.execute(text(f"LOCK TABLE {outbox.name} IN SHARE ROW EXCLUSIVE MODE"))
        await tx.execute(update(store).values(store_id=store_id))
        await tx.execute(delete(outbox))
        all_facts = select(facts.c.id, facts.c.version).where(facts.c.row > 0, current_or_past()).order_by(facts.c.row)
        statement = insert_or(tx, outbox).from_select(["fact_id", "version"], all_facts)
        await tx.execute(statement.on_conflict_do_nothing())

    async def claim_store(
        self, tx: Transaction, owner: str, *, now: float, lease_seconds: float | None, dead_owner: str | None = None
    ) -> bool:
        """Record `owner` as the process that writes the store; return whether it is.

        With `lease_seconds` the claim fails while the lease of another owner runs, unless that is `dead_owner`, a
        process that has ended. Without it, a lock of the operating system has already decided.
        """
        statement = update(store).values(
            owner=owner, owned_until=None if lease_seconds is None else now + lease_seconds
        )
        if lease_seconds is not None:
            is_own = store.c.owner.in_([owner] if dead_owner is None else [owner, dead_owner])
            is_free = or_(store.c.owner.is_(None), is_own, store.c.owned_until.is_(None))
            statement = statement.where(or_(is_free, store.c.owned_until <= now))
        return (await tx.execute(statement)).rowcount == 1

    async def release_store(self, tx: Transaction, owner: str) -> None:
        """Release the claim of `owner`."""
        await tx.execute(update(store).where(store.c.owner == owner).values(owner=None, owned_until=None))

    async def record_erasure(self, tx: Transaction, scope: Scope, *, now: float) -> None:
        """Record that files may contain forgotten text; the scope is not stored."""
        await tx.execute(insert(tables.erasures).values(noted_at=now))

    async def pending_erasures(self, tx: Transaction) -> list[int]:
        """Return the ids of erasures that are not finished."""
        return list((await tx.execute(select(tables.erasures.c.id).order_by(tables.erasures.c.id))).scalars())

    async def finish_erasures(self, tx: Transaction, erasures: Collection[int]) -> None:
        """Record that these erasures are finished."""
        await change_in(tx, delete(tables.erasures), tables.erasures.c.id, sorted(erasures))

    async def erase_withdrawn(self, tx: Transaction, *, now: float) -> None:
        """Delete what tools have forgotten for long enough by `now`, and record that as an erasure."""
        erased = update(tool_changes).where(tool_changes.c.erase_at <= now).values(state=None, erase_at=None)
        if (await tx.execute(erased)).rowcount:
            await tx.execute(insert(tables.erasures).values(noted_at=now))
