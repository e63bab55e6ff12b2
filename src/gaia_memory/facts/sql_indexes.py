"""Rebuilds the features and the vectors of facts from their texts, one batch at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, bindparam, func, or_, select, tuple_, update

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.rows import VECTORS_PER_STATEMENT, in_chunks, pack_vector
from gaia_memory.facts.scopes import bump_revisions, dialect_insert
from gaia_memory.facts.tables import facts, outbox, scopes
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import DirtyFact, extract_fact_features

if TYPE_CHECKING:
    from gaia_memory.models import Vector
    from gaia_memory.ports import Transaction


class Indexes:
    """What recall compares of the facts in the memory database. It keeps no state: all of it comes with `tx`."""

    async def count_outdated(self, tx: Transaction) -> int:
        """Count the facts without features of this version, which a search computes from the text each time."""
        return (await tx.execute(select(func.count()).where(_is_outdated(), current_or_past()))).scalar_one()

    async def mark_outdated(self, tx: Transaction) -> None:
        """Let the features of every fact be made again."""
        await tx.execute(update(facts).where(current_or_past()).values(form=0))

    async def rebuild_features(self, tx: Transaction, *, limit: int) -> int:
        """Make the features of the next outdated facts, at most `limit`; return how many, 0 at the end.

        The revision of their scopes rises.
        """
        outdated = select(facts.c.row, facts.c.partition).where(_is_outdated(), current_or_past())
        rows = (await tx.execute(outdated.order_by(facts.c.row).limit(limit))).all()
        partitions = sorted({row.partition for row in rows})
        # Every writer locks the scope first, so these facts are neither moved nor deleted from here on.
        await bump_revisions(tx, partitions)
        is_meant = facts.c.row.in_([row.row for row in rows]), facts.c.partition.in_(partitions)
        columns = facts.c.row, facts.c.text, facts.c.metadata
        texts = await tx.execute(select(*columns).where(*is_meant, current_or_past()))
        changed = [{"of_row": each.row, "made": extract_fact_features(each.text, each.metadata)} for each in texts]
        if changed:
            values = {"form": TOKENIZER_VERSION, "traits": bindparam("made")}
            await tx.execute(update(facts).where(facts.c.row == bindparam("of_row")).values(values), changed)
        return len(rows)

    async def ids_without_vector_of(
        self, tx: Transaction, embedder: str, *, include_sensitive: bool = True
    ) -> list[str]:
        """Return the ids of facts, of any scope, that have no vector or one of another embedder; oldest first."""
        # In place of `!=`, which reads every row: most have the vector.
        others = or_(facts.c.embedder.is_(None), facts.c.embedder < embedder, facts.c.embedder > embedder)
        statement = select(facts.c.id).where(others, current_or_past()).order_by(facts.c.row)
        if not include_sensitive:
            statement = statement.where(facts.c.sensitive.is_(False))
        return list((await tx.execute(statement)).scalars())

    async def replace_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> int:
        """Replace the vectors of facts whose version is unchanged; return how many. They become dirty."""
        columns = facts.c.id, facts.c.version, facts.c.partition
        partitions: set[str] = set()
        for chunk in in_chunks(vectors, size=VECTORS_PER_STATEMENT):
            ids = [row.fact_id for row in chunk]
            found = select(facts.c.partition).where(facts.c.id.in_(ids), current_or_past()).distinct()
            partitions.update((await tx.execute(found)).scalars())
        await bump_revisions(tx, sorted(partitions))
        revision_query = select(scopes.c.partition, scopes.c.revision).where(scopes.c.partition.in_(sorted(partitions)))
        revisions = {row.partition: row.revision for row in await tx.execute(revision_query)}
        changes = []
        for chunk in in_chunks(vectors, size=VECTORS_PER_STATEMENT):
            pairs = [(row.fact_id, row.version) for row in chunk]
            unchanged = select(*columns).where(tuple_(facts.c.id, facts.c.version).in_(pairs), current_or_past())
            for row in await tx.execute(unchanged.where(facts.c.partition.in_(sorted(partitions)))):
                vector = pack_vector(vectors[DirtyFact(fact_id=row.id, version=row.version)])
                changes.append({"of_id": row.id, "packed": vector, "raised": revisions[row.partition]})
        if not changes:
            return 0
        # The follower locks rows of the outbox in the same order, over all scopes.
        changes.sort(key=lambda change: change["of_id"])
        statement = update(facts).where(facts.c.id == bindparam("of_id"))
        values = {"vector": bindparam("packed"), "embedder": embedder, "version": bindparam("raised")}
        await tx.execute(statement.values(values), changes)
        upsert = dialect_insert(tx, outbox)
        upsert = upsert.on_conflict_do_update(
            index_elements=[outbox.c.fact_id], set_={"version": upsert.excluded.version}
        )
        await tx.execute(upsert, [{"fact_id": change["of_id"], "version": change["raised"]} for change in changes])
        return len(changes)


def _is_outdated() -> ColumnElement[bool]:
    return or_(facts.c.form != TOKENIZER_VERSION, facts.c.traits.is_(None))
