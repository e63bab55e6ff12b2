"""Stores drafts: new facts, further sources of known ones, vectors that were missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, bindparam, select, update

from gaia_memory.database.text import encode_id
from gaia_memory.facts import keywords
from gaia_memory.facts.normal import normal_hash
from gaia_memory.facts.rows import fact_of, in_chunks, new_row, pack, seconds
from gaia_memory.facts.scopes import insert, mark_dirty, raise_revision
from gaia_memory.facts.tables import facts, sources
from gaia_memory.models import Draft, Fact, Scope

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


async def write(tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> list[Fact]:
    """Store drafts of one scope and return the fact each became, in order."""
    by_normal: dict[str, list[Draft]] = {}
    order: list[str] = []
    for draft in drafts:
        order.append(normal_hash(draft.fact.text))
        by_normal.setdefault(order[-1], []).append(draft)
    if not order:
        return []
    state = await raise_revision(tx, scope)
    known = await _find(tx, scope, by_normal)
    fresh = [
        new_row(
            scope.partition,
            _with_vector(group),
            normal=normal,
            words=keywords.count_words(group[0].fact.text),
            version=state.revision,
            now=seconds(now),
        )
        for normal, group in by_normal.items()
        if normal not in known
    ]
    if fresh:
        await tx.execute(insert(tx, facts), fresh)
    completed = await _complete(tx, known.values(), by_normal, version=state.revision, now=seconds(now))
    stored = known | await _find(tx, scope, [row["normal"] for row in fresh] + completed)
    await keywords.index(tx, state.number, ((stored[row["normal"]].row, row["text"]) for row in fresh))
    await _add_sources(tx, stored, by_normal)
    await mark_dirty(
        tx, [row["id"] for row in fresh] + sorted(stored[normal].id for normal in completed), state.revision
    )
    return [fact_of(stored[normal], scope) for normal in order]


async def _find(tx: Transaction, scope: Scope, normals: Iterable[str]) -> dict[str, Row[Any]]:
    found: dict[str, Row[Any]] = {}
    for chunk in in_chunks(normals):
        statement = select(facts).where(facts.c.partition == scope.partition, facts.c.normal.in_(chunk))
        found |= {row.normal: row for row in await tx.execute(statement)}
    return found


def _with_vector(group: Sequence[Draft]) -> Draft:
    """Return the first draft of a fact, with the vector of the first that has one."""
    if group[0].vector is not None:
        return group[0]
    for draft in group[1:]:
        if draft.vector is not None:
            return replace(group[0], vector=draft.vector, embedder=draft.embedder)
    return group[0]


async def _complete(
    tx: Transaction, known: Iterable[Row[Any]], by_normal: dict[str, list[Draft]], *, version: int, now: float
) -> list[str]:
    """Give known facts the vector they lack; return the normal forms of those that got one."""
    changes = []
    for row in known:
        draft = _with_vector(by_normal[row.normal])
        if row.vector is None and draft.vector is not None:
            change = {"vector": pack(draft.vector), "embedder": draft.embedder, "version": version, "updated_at": now}
            changes.append(change | {"of_row": row.row, "normal": row.normal})
    if changes:
        names = ("vector", "embedder", "version", "updated_at")
        statement = update(facts).where(facts.c.row == bindparam("of_row"))
        statement = statement.values({name: bindparam(name) for name in names})
        await tx.execute(statement, [{name: row[name] for name in (*names, "of_row")} for row in changes])
    return [row["normal"] for row in changes]


async def _add_sources(tx: Transaction, stored: dict[str, Row[Any]], by_normal: dict[str, list[Draft]]) -> None:
    rows = [_source(stored[normal].row, draft) for normal, group in by_normal.items() for draft in group]
    statement = insert(tx, sources).on_conflict_do_nothing(index_elements=[sources.c.fact_row, sources.c.origin])
    await tx.execute(statement, rows)


def _source(fact_row: int, draft: Draft) -> dict[str, Any]:
    fact = draft.fact
    values: dict[str, Any] = {
        "kind": draft.source,
        "app": None if draft.app is None else encode_id(draft.app),
        "session_id": None if fact.session_id is None else encode_id(fact.session_id),
        "seq": fact.seq,
        "said_at": None if fact.said_at is None else seconds(fact.said_at),
        "event_ids": list(draft.event_ids),
    }
    origin = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    return {"fact_row": fact_row, "origin": origin, **values}
