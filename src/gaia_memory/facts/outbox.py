"""The outbox over SQL: which facts the mem0 store has still to follow, and which store that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, or_, select, text, tuple_, update

from gaia_memory.facts import tables
from gaia_memory.facts.rows import fact_of, in_chunks, pack_vector, scope_of, unpack_vector
from gaia_memory.facts.scopes import bump_revisions
from gaia_memory.facts.scopes import dialect_insert as insert_or
from gaia_memory.facts.tables import facts, outbox, scopes, store
from gaia_memory.models import DirtyFact, Scope, StoredFact, StoreState, Vector

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class SqlOutbox:
    """The outbox in the tables of the memory database. It holds nothing itself: all state comes with `tx`."""

    async def store(self, tx: Transaction) -> StoreState:
        """Return the current store, its lag and its owner."""
        row = (await tx.execute(select(store))).one()
        return StoreState(
            store_id=row.store_id,
            owner=row.owner,
            lag=(await tx.execute(select(func.count()).select_from(outbox))).scalar_one(),
            erasures=(await tx.execute(select(func.count()).select_from(tables.erasures))).scalar_one(),
            awaited_until=row.awaited_until,
        )

    async def dirty(self, tx: Transaction, *, limit: int) -> list[DirtyFact]:
        """Return the oldest dirty ids."""
        statement = select(outbox.c.fact_id, outbox.c.version).order_by(outbox.c.place).limit(limit)
        return [DirtyFact(fact_id=row.fact_id, version=row.version) for row in await tx.execute(statement)]

    async def load_facts(self, tx: Transaction, fact_ids: Collection[str]) -> dict[str, StoredFact]:
        """Return those of `fact_ids` that are facts now, of any scope, with their vectors."""
        found: dict[str, StoredFact] = {}
        for chunk in in_chunks(fact_ids):
            statement = (
                select(facts, scopes.c.app, scopes.c.user_id)
                .join(scopes, scopes.c.partition == facts.c.partition)
                .where(facts.c.id.in_(chunk))
            )
            for row in await tx.execute(statement):
                found[row.id] = StoredFact(
                    fact=fact_of(row, scope_of(row.app, row.user_id)),
                    version=row.version,
                    vector=None if row.vector is None else unpack_vector(row.vector),
                    embedder=row.embedder,
                )
        return found

    async def synced_facts(self, tx: Transaction, *, after: str, limit: int) -> list[StoredFact]:
        """Return facts that wait for nothing, of any scope, by id: those behind the id `after`."""
        statement = (
            select(facts.c.id)
            .where(facts.c.id > after, facts.c.id.not_in(select(outbox.c.fact_id)))
            .order_by(facts.c.id)
            .limit(limit)
        )
        ids = list((await tx.execute(statement)).scalars())
        found = await self.load_facts(tx, ids)
        return [found[fact_id] for fact_id in ids]

    async def acknowledge(self, tx: Transaction, rows: Iterable[DirtyFact]) -> int:
        """Remove rows whose version is still the one given; return how many were removed."""
        removed = 0
        for chunk in in_chunks(sorted((row.fact_id, row.version) for row in rows)):
            is_acknowledged = tuple_(outbox.c.fact_id, outbox.c.version).in_(chunk)
            if tx.dialect.name == "postgresql":
                # Locked in the order in which writers lock them.
                await tx.execute(
                    select(outbox.c.place).where(is_acknowledged).order_by(outbox.c.fact_id).with_for_update()
                )
            removed += (await tx.execute(delete(outbox).where(is_acknowledged))).rowcount
        return removed

    async def backfill_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> None:
        """Give facts their missing vector, each only while its version is unchanged."""
        partitions: set[str] = set()
        for chunk in in_chunks(vectors, size=250):
            pairs = sorted((row.fact_id, row.version) for row in chunk)
            statement = select(facts.c.partition).where(tuple_(facts.c.id, facts.c.version).in_(pairs)).distinct()
            partitions.update((await tx.execute(statement)).scalars())
        if not partitions:
            return
        # The scope first, as every writer does; what is cached of its vectors is keyed by the revision.
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
        """Make `store_id`, an empty store, the current one: every fact becomes dirty, dead ids leave."""
        if tx.dialect.name == "postgresql":
            # Writers lock its rows in their own order, and this one takes all of them.
            await tx.execute(text(f"LOCK TABLE {outbox.name} IN SHARE ROW EXCLUSIVE MODE"))
        await tx.execute(update(store).values(store_id=store_id))
        await tx.execute(delete(outbox))
        all_facts = select(facts.c.id, facts.c.version).where(facts.c.row > 0).order_by(facts.c.row)
        statement = insert_or(tx, outbox).from_select(["fact_id", "version"], all_facts)
        await tx.execute(statement.on_conflict_do_nothing())

    async def claim_store(
        self, tx: Transaction, owner: str, *, now: float, lease_seconds: float | None, dead_owner: str | None = None
    ) -> bool:
        """Note `owner` as the one who writes the store; with `lease_seconds` only while nobody else's lease is running.

        That of `dead_owner`, who has ended, does not count.
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
        """Give the store back."""
        await tx.execute(update(store).where(store.c.owner == owner).values(owner=None, owned_until=None))

    async def register_waiter(self, tx: Transaction, *, until: float) -> None:
        """Say that somebody waits for the store until then."""
        unset_or_earlier = or_(store.c.awaited_until.is_(None), store.c.awaited_until < until)
        await tx.execute(update(store).where(unset_or_earlier).values(awaited_until=until))

    async def record_erasure(self, tx: Transaction, scope: Scope, *, now: float) -> None:
        """Note that files may hold text that was forgotten; whose it was is not kept."""
        await tx.execute(insert(tables.erasures).values(noted_at=now))

    async def pending_erasures(self, tx: Transaction) -> list[int]:
        """Return the ids of erasures that are not finished."""
        return list((await tx.execute(select(tables.erasures.c.id).order_by(tables.erasures.c.id))).scalars())

    async def finish_erasures(self, tx: Transaction, erasures: Collection[int]) -> None:
        """Note that these erasures are finished."""
        for chunk in in_chunks(sorted(erasures)):
            await tx.execute(delete(tables.erasures).where(tables.erasures.c.id.in_(chunk)))
