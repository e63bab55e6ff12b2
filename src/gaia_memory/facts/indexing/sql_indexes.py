"""Rebuilds the keyword index and the vectors from the facts, one batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, or_, select, tuple_, update
from typing_extensions import override

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import VECTORS_PER_STATEMENT, in_chunks, pack_vector
from gaia_memory.facts.scopes import bump_revisions, dialect_insert
from gaia_memory.facts.tables import facts, outbox, reindexing, scopes
from gaia_memory.language.text_features import has_current_version
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import DirtyFact, extract_fact_features
from gaia_memory.ports import Indexes

if TYPE_CHECKING:
    from gaia_memory.models import Vector
    from gaia_memory.ports import Transaction

_REBUILD_ID = 1
"""Key of the only rebuild of a database: a second process that starts one joins it."""


class SqlIndexes(Indexes):
    """The keyword index and the vectors in the memory database. It keeps no state: all of it comes with `tx`.

    The progress of a keyword rebuild is stored in the database, so a killed rebuild resumes where it stopped.
    """

    @override
    async def count_outdated(self, tx: Transaction) -> int:
        return (
            await tx.execute(select(func.count()).where(facts.c.form != TOKENIZER_VERSION, current_or_past()))
        ).scalar_one()

    @override
    async def count_without_traits(self, tx: Transaction) -> int:
        return (await tx.execute(select(func.count()).where(facts.c.traits.is_(None), current_or_past()))).scalar_one()

    @override
    async def begin_keyword_rebuild(self, tx: Transaction, *, from_scratch: bool) -> tuple[int, int]:
        initial = {"form": TOKENIZER_VERSION, "after": 0}
        upsert = dialect_insert(tx, reindexing).values(id=_REBUILD_ID, **initial)
        await tx.execute(
            upsert.on_conflict_do_update(
                index_elements=[reindexing.c.id],
                set_=initial,
                # A rebuild begun for another version of the tokenizer starts from scratch.
                where=reindexing.c.id == _REBUILD_ID if from_scratch else reindexing.c.form != TOKENIZER_VERSION,
            )
        )
        after = (await tx.execute(select(reindexing.c.after))).scalar_one()
        done = select(func.count()).where(facts.c.row <= after, current_or_past())
        total = select(func.count()).select_from(facts).where(current_or_past())
        return (await tx.execute(done)).scalar_one(), (await tx.execute(total)).scalar_one()

    @override
    async def rebuild_keywords(self, tx: Transaction, *, limit: int) -> int | None:
        progress = (await tx.execute(select(reindexing).with_for_update())).one_or_none()
        if progress is None:
            return None
        columns = facts.c.row, facts.c.partition
        next_rows = (
            select(*columns).where(facts.c.row > progress.after, current_or_past()).order_by(facts.c.row).limit(limit)
        )
        rows = (await tx.execute(next_rows)).all()
        if rows:
            await tx.execute(update(reindexing).values(after=rows[-1].row))
        else:
            # An older version may have written facts to the part that is done.
            outdated = select(*columns).where(facts.c.form != TOKENIZER_VERSION, current_or_past()).limit(limit)
            rows = (await tx.execute(outdated)).all()
        if not rows:
            await tx.execute(delete(reindexing))
            return None
        await self._reindex_rows(tx, rows)
        return len(rows)

    async def _reindex_rows(self, tx: Transaction, rows: Sequence[Any]) -> None:
        partitions = sorted({row.partition for row in rows})
        # Every writer locks the scope first, so these facts are neither moved nor deleted from here on.
        await bump_revisions(tx, partitions)
        fact_columns = facts.c.row, facts.c.text, facts.c.metadata, facts.c.words, facts.c.form, facts.c.traits
        columns = *fact_columns, scopes.c.number
        select_statement = (
            select(*columns)
            .join(scopes, scopes.c.partition == facts.c.partition)
            .where(facts.c.row.in_([row.row for row in rows]), facts.c.partition.in_(partitions), current_or_past())
        )
        locked_rows = (await tx.execute(select_statement)).all()
        if not locked_rows:
            return
        await keyword_index.unindex(tx, [row.row for row in locked_rows])
        for number in sorted({row.number for row in locked_rows}):
            await keyword_index.index(tx, number, ((row.row, row.text) for row in locked_rows if row.number == number))
        counts = {row.row: keyword_index.count_words(row.text) for row in locked_rows}
        changed = [
            {"of_row": row.row, "counted": counts[row.row], "compared": extract_fact_features(row.text, row.metadata)}
            for row in locked_rows
            if row.form != TOKENIZER_VERSION or row.words != counts[row.row] or not has_current_version(row.traits)
        ]
        if changed:
            statement = update(facts).where(facts.c.row == bindparam("of_row"))
            values = {"words": bindparam("counted"), "form": TOKENIZER_VERSION, "traits": bindparam("compared")}
            await tx.execute(statement.values(values), changed)

    @override
    async def ids_without_vector_of(
        self, tx: Transaction, embedder: str, *, include_sensitive: bool = True
    ) -> list[str]:
        others = or_(facts.c.embedder.is_(None), facts.c.embedder != embedder)
        statement = select(facts.c.id).where(others, current_or_past()).order_by(facts.c.row)
        if not include_sensitive:
            statement = statement.where(facts.c.sensitive.is_(False))
        return list((await tx.execute(statement)).scalars())

    @override
    async def replace_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> int:
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
