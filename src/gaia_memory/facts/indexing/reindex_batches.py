"""Makes the keyword index and the vectors anew from the facts, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, or_, select, tuple_, update

from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import in_chunks, pack_vector
from gaia_memory.facts.scopes import bump_revisions, dialect_insert
from gaia_memory.facts.tables import facts, outbox, reindexing, scopes
from gaia_memory.language.text_features import has_current_version
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import DirtyFact, Vector, extract_fact_features

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_REBUILD_ID = 1
"""There is one rebuild a database: who starts another one meanwhile takes part in it."""


class SqlIndexes:
    """The keyword index and the vectors as what can be made anew. It holds nothing itself: all state comes with `tx`.

    How far a rebuild of the keyword index is stands in the database, so one that was killed goes on where it stopped.
    """

    async def count_outdated(self, tx: Transaction) -> int:
        """Count the facts whose words another version of this package took into the keyword index."""
        return (await tx.execute(select(func.count()).where(facts.c.form != TOKENIZER_VERSION))).scalar_one()

    async def count_without_traits(self, tx: Transaction) -> int:
        """Count the facts whose traits are not kept, so that a search works them out from the text."""
        return (await tx.execute(select(func.count()).where(facts.c.traits.is_(None)))).scalar_one()

    async def begin_keyword_rebuild(self, tx: Transaction, *, from_scratch: bool) -> tuple[int, int]:
        """Begin to rebuild the keyword index, or go on with what was not ended; `from_scratch` does not.

        Returns how many facts are done already, and how many there are.
        """
        initial = {"form": TOKENIZER_VERSION, "after": 0}
        upsert = dialect_insert(tx, reindexing).values(id=_REBUILD_ID, **initial)
        await tx.execute(
            upsert.on_conflict_do_update(
                index_elements=[reindexing.c.id],
                set_=initial,
                # What was begun for other words than those of today helps nobody.
                where=reindexing.c.id == _REBUILD_ID if from_scratch else reindexing.c.form != TOKENIZER_VERSION,
            )
        )
        after = (await tx.execute(select(reindexing.c.after))).scalar_one()
        done = select(func.count()).where(facts.c.row <= after)
        total = select(func.count()).select_from(facts)
        return (await tx.execute(done)).scalar_one(), (await tx.execute(total)).scalar_one()

    async def rebuild_keywords(self, tx: Transaction, *, limit: int) -> int | None:
        """Take the next facts, at most `limit`, out of the index and in again; return how many, None at the end.

        Nobody else sees a fact missing from it. The revision of their scopes rises.
        """
        progress = (await tx.execute(select(reindexing).with_for_update())).one_or_none()
        if progress is None:
            return None
        columns = facts.c.row, facts.c.partition
        next_rows = select(*columns).where(facts.c.row > progress.after).order_by(facts.c.row).limit(limit)
        rows = (await tx.execute(next_rows)).all()
        if rows:
            await tx.execute(update(reindexing).values(after=rows[-1].row))
        else:
            # Facts that an older version wrote meanwhile, behind the place where this one was.
            rows = (await tx.execute(select(*columns).where(facts.c.form != TOKENIZER_VERSION).limit(limit))).all()
        if not rows:
            await tx.execute(delete(reindexing))
            return None
        await self._reindex_rows(tx, rows)
        return len(rows)

    async def _reindex_rows(self, tx: Transaction, rows: Sequence[Any]) -> None:
        partitions = sorted({row.partition for row in rows})
        # The scope first, as every writer does: from here on nobody moves these facts or deletes them.
        await bump_revisions(tx, partitions)
        fact_columns = facts.c.row, facts.c.text, facts.c.metadata, facts.c.words, facts.c.form, facts.c.traits
        columns = *fact_columns, scopes.c.number
        select_statement = (
            select(*columns)
            .join(scopes, scopes.c.partition == facts.c.partition)
            .where(facts.c.row.in_([row.row for row in rows]), facts.c.partition.in_(partitions))
        )
        current = (await tx.execute(select_statement)).all()
        if not current:
            return
        await keyword_index.unindex(tx, [row.row for row in current])
        for number in sorted({row.number for row in current}):
            await keyword_index.index(tx, number, ((row.row, row.text) for row in current if row.number == number))
        counts = {row.row: keyword_index.count_words(row.text) for row in current}
        changed = [
            {"of_row": row.row, "counted": counts[row.row], "compared": extract_fact_features(row.text, row.metadata)}
            for row in current
            if row.form != TOKENIZER_VERSION or row.words != counts[row.row] or not has_current_version(row.traits)
        ]
        if changed:
            statement = update(facts).where(facts.c.row == bindparam("of_row"))
            values = {"words": bindparam("counted"), "form": TOKENIZER_VERSION, "traits": bindparam("compared")}
            await tx.execute(statement.values(values), changed)

    async def ids_without_vector_of(self, tx: Transaction, embedder: str) -> list[str]:
        """Return the ids of facts, of any scope, that have no vector, or one of another embedder; oldest first."""
        others = or_(facts.c.embedder.is_(None), facts.c.embedder != embedder)
        return list((await tx.execute(select(facts.c.id).where(others).order_by(facts.c.row))).scalars())

    async def replace_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> int:
        """Give facts a vector of `embedder` in place of what they have; return how many were as given until then.

        They are changed facts to the store that follows.
        """
        columns = facts.c.id, facts.c.version, facts.c.partition
        partitions: set[str] = set()
        for chunk in in_chunks(vectors, size=250):
            ids = [row.fact_id for row in chunk]
            found = select(facts.c.partition).where(facts.c.id.in_(ids)).distinct()
            partitions.update((await tx.execute(found)).scalars())
        await bump_revisions(tx, sorted(partitions))
        revision_query = select(scopes.c.partition, scopes.c.revision).where(scopes.c.partition.in_(sorted(partitions)))
        revisions = {row.partition: row.revision for row in await tx.execute(revision_query)}
        changes = []
        for chunk in in_chunks(vectors, size=250):
            pairs = [(row.fact_id, row.version) for row in chunk]
            unchanged = select(*columns).where(tuple_(facts.c.id, facts.c.version).in_(pairs))
            for row in await tx.execute(unchanged.where(facts.c.partition.in_(sorted(partitions)))):
                vector = pack_vector(vectors[DirtyFact(fact_id=row.id, version=row.version)])
                changes.append({"of_id": row.id, "packed": vector, "raised": revisions[row.partition]})
        if not changes:
            return 0
        # In one order over all scopes: the follower locks rows of the outbox in it, too.
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
