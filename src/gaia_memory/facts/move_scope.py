"""Moves one scope's facts into another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, delete, select, update
from typing_extensions import override

from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.scopes import bump_revision, dialect_insert, mark_dirty
from gaia_memory.facts.tables import endings, facts, past_facts, profiles, sources
from gaia_memory.facts.tombstones import move_tombstones
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import MergeResult
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


class ScopeMergeMixin(FactStore):
    """The part of the fact store that merges two scopes."""

    @override
    async def merge(self, tx: Transaction, scope: Scope, into: Scope) -> MergeResult:
        # Always in the same order: two merges of the same scopes must not wait for each other.
        states = {each: await bump_revision(tx, each) for each in sorted((scope, into), key=lambda it: it.partition)}
        await bump_revision(tx, into, forgotten_at=states[scope].forgotten_at)
        rows = await _rows(tx, scope)
        is_forgotten = await self.have_tombstones(tx, into, [row.text for row in rows])
        dropped = [row.id for row, is_gone in zip(rows, is_forgotten, strict=True) if is_gone]
        rows = [row for row, is_gone in zip(rows, is_forgotten, strict=True) if not is_gone]
        await self.clear_excerpts(tx, scope, dropped)
        existing = await _existing_ids(tx, into, [row.normal for row in rows])
        joined = [row for row in rows if row.normal in existing]
        await _copy_sources(tx, scope, {row.id: existing[row.normal] for row in joined})
        await self.delete(tx, scope, [*dropped, *(row.id for row in joined)])
        moved = [row for row in rows if row.normal not in existing]
        await _move_facts(tx, moved, into)
        for table in (past_facts, endings):
            in_history = table.c.partition == scope.partition
            await tx.execute(update(table).where(in_history).values(partition=into.partition))
        await move_tombstones(tx, scope, into, states[scope].salt)
        await tx.execute(delete(profiles).where(profiles.c.partition.in_([scope.partition, into.partition])))
        return MergeResult(moved=len(moved), joined=len(joined), dropped=len(dropped))


async def _rows(tx: Transaction, scope: Scope) -> Sequence[Row[Any]]:
    columns: tuple[Any, ...] = (facts.c.row, facts.c.id, facts.c.text, facts.c.normal)
    statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past()).order_by(facts.c.row)
    return (await tx.execute(statement)).all()


async def _existing_ids(tx: Transaction, scope: Scope, normals: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for chunk in in_chunks(normals):
        statement = select(facts.c.normal, facts.c.id).where(facts.c.partition == scope.partition, current())
        found |= {row.normal: row.id for row in await tx.execute(statement.where(facts.c.normal.in_(chunk)))}
    return found


async def _copy_sources(tx: Transaction, scope: Scope, targets: dict[str, str]) -> None:
    """Copy the sources of facts of `scope` to the same facts of the other scope; each names the fact it came from."""
    for chunk in in_chunks(targets):
        statement = select(sources).where(sources.c.fact_id.in_(chunk)).order_by(sources.c.row)
        found = [dict(row._mapping) for row in await tx.execute(statement)]
        copies = [
            {
                **row,
                "fact_id": targets[row["fact_id"]],
                "origin_scope": row["origin_scope"] or scope.partition,
                "origin_id": row["origin_id"] or row["fact_id"],
            }
            for row in found
        ]
        for row in copies:
            del row["row"]
        if copies:
            upsert = dialect_insert(tx, sources).on_conflict_do_nothing(
                index_elements=[sources.c.fact_id, sources.c.origin]
            )
            await tx.execute(upsert, copies)


async def _move_facts(tx: Transaction, rows: Sequence[Row[Any]], into: Scope) -> None:
    state = await bump_revision(tx, into)
    for chunk in in_chunks(rows):
        row_ids = [row.row for row in chunk]
        await keyword_index.unindex(tx, row_ids)
        update_statement = update(facts).where(facts.c.row.in_(row_ids))
        await tx.execute(
            update_statement.values(partition=into.partition, version=state.revision, form=TOKENIZER_VERSION)
        )
        await keyword_index.index(tx, state.number, ((row.row, row.text) for row in chunk))
    await mark_dirty(tx, sorted(row.id for row in rows), state.revision)
