"""Moves facts between the current and the past ones; they keep their ids, vectors and sources."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import Row, case, delete, insert, select, update

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.timeline import Timeline
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.scopes import log_changes, mark_dirty
from gaia_memory.facts.tables import endings, facts, past_facts, sources
from gaia_memory.language.text_features import has_current_version
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import Scope, extract_fact_features

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

SHARED_NAMES = tuple(column.name for column in past_facts.c if column.name in facts.c)
"""The columns that current and past facts have."""


async def settle(tx: Transaction, scope: Scope, fact_ids: Collection[str], timeline: Timeline, state: Row[Any]) -> None:
    """Move each of these facts to where its timeline says it belongs; `state` is the scope's row."""
    ended = [fact_id for fact_id in sorted(fact_ids) if timeline.has_ended(fact_id)]
    await _move_to_past(tx, scope, ended, state.revision)
    await move_to_current(tx, scope, sorted(set(fact_ids).difference(ended)), state)


async def _move_to_past(tx: Transaction, scope: Scope, fact_ids: Collection[str], version: int) -> None:
    for chunk in in_chunks(fact_ids):
        columns = [facts.c[name] for name in SHARED_NAMES]
        is_meant = facts.c.partition == scope.partition, facts.c.id.in_(chunk)
        rows = (await tx.execute(select(*columns).where(*is_meant, current_or_past()))).all()
        if not rows:
            continue
        await tx.execute(insert(past_facts), [_values(row, version) for row in rows])
        await tx.execute(delete(facts).where(facts.c.row.in_([row.row for row in rows])))
        await mark_dirty(tx, sorted(row.id for row in rows), version)
        await log_changes(tx, scope.partition, "replaced", [row.id for row in rows])


async def move_to_current(tx: Transaction, scope: Scope, fact_ids: Collection[str], state: Row[Any]) -> None:
    """Make past facts current again; current ones stay."""
    for chunk in in_chunks(fact_ids):
        columns = (past_facts.c[name] for name in SHARED_NAMES)
        statement = select(*columns).where(past_facts.c.partition == scope.partition, past_facts.c.id.in_(chunk))
        rows = (await tx.execute(statement)).all()
        is_same = facts.c.partition == scope.partition, facts.c.normal.in_([row.normal for row in rows])
        known = set((await tx.execute(select(facts.c.normal).where(*is_same, current_or_past()))).scalars())
        # After a merge of two people, the same statement may be past and current.
        rows = [row for row in rows if row.normal not in known]
        if not rows:
            continue
        ids = [row.id for row in rows]
        await tx.execute(delete(past_facts).where(past_facts.c.id.in_(ids)))
        values = [_indexed(_values(row, state.revision)) for row in rows]
        for has_row in (True, False):
            if some := [each for each in values if ("row" in each) == has_row]:
                await tx.execute(insert(facts), some)
        await mark_dirty(tx, sorted(ids), state.revision)
        await log_changes(tx, scope.partition, "added", ids)


def _values(row: Row[Any], version: int) -> dict[str, Any]:
    return {**{name: getattr(row, name) for name in SHARED_NAMES}, "version": version}


def _indexed(values: dict[str, Any]) -> dict[str, Any]:
    if values["row"] is None:
        # It ended under a version that did not note it.
        del values["row"]
    if not has_current_version(values["traits"]):
        values["traits"] = extract_fact_features(values["text"], values["metadata"])
    return values | {"form": TOKENIZER_VERSION}


async def swap_ids(tx: Transaction, scope: Scope, one: str, other: str, version: int) -> None:
    """Give two facts of a scope each other's id, with what refers to them."""
    between = str(uuid4())
    in_scope = endings.c.partition == scope.partition
    for table in (facts, past_facts):
        its = table.c.partition == scope.partition
        for old, new in ((one, between), (other, one), (between, other)):
            await tx.execute(update(table).where(its, table.c.id == old).values(id=new))
    for old, new in ((one, between), (other, one), (between, other)):
        await tx.execute(update(sources).where(sources.c.fact_id == old).values(fact_id=new))
    for column in (endings.c.fact_id, endings.c.ended_by):
        swapped = case((column == one, other), else_=one)
        await tx.execute(update(endings).where(in_scope, column.in_([one, other])).values({column: swapped}))
    await mark_dirty(tx, sorted([one, other]), version)
