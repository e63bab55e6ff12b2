"""Moves one scope's facts into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, case, delete, select, update

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.reconciling.comparisons import move_comparisons
from gaia_memory.facts.rows import change_in, in_chunks, select_in
from gaia_memory.facts.scopes import bump_revision, dialect_insert, log_changes, mark_dirty
from gaia_memory.facts.tables import announcements, endings, facts, past_facts, profiles, sources, tool_changes, usage
from gaia_memory.facts.tombstones import move_tombstones
from gaia_memory.models import DUE_FIELDS, MergeResult

if TYPE_CHECKING:
    from gaia_memory.facts.fact_store import FactStore
    from gaia_memory.facts.reconciling.comparisons import Comparisons
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


async def merge_scopes(store: FactStore, tx: Transaction, scope: Scope, into: Scope) -> MergeResult:
    """Move every fact of `scope`, with its sources and tombstones, to `into`; ids stay.

    A fact that both know is stored once, with the sources of both. Facts that `into` has forgotten are dropped, and
    `into` has then forgotten whatever either scope had.
    """
    # Always in the same order: two merges of the same scopes must not wait for each other.
    states = {each: await bump_revision(tx, each) for each in sorted((scope, into), key=lambda it: it.partition)}
    await bump_revision(tx, into, forgotten_at=states[scope].forgotten_at)
    rows = await _rows(tx, scope)
    is_forgotten = await store.tombstones.have_tombstones(tx, into, [row.text for row in rows])
    dropped = [row.id for row, is_gone in zip(rows, is_forgotten, strict=True) if is_gone]
    rows = [row for row, is_gone in zip(rows, is_forgotten, strict=True) if not is_gone]
    existing = await _existing_ids(tx, into, [row.normal for row in rows])
    joined = [row for row in rows if row.normal in existing]
    same = {row.id: existing[row.normal] for row in joined}
    await _mark_sensitive(tx, into, [same[row.id] for row in joined if row.sensitive])
    await _relink_copies(tx, scope, into, same)
    await _copy_sources(tx, scope, same)
    await _rename_in_endings(tx, scope, same)
    await _queue_again(store.comparisons, tx, scope, into, same)
    await _keep_due_dates(tx, scope, into, same, states[into].revision)
    await _keep_keys(tx, into, {same[row.id]: row.key for row in joined if row.key}, states[into].revision)
    past = [each.fact for each in (await store.history.past(tx, scope)).values()]
    is_forgotten = await store.tombstones.have_tombstones(tx, into, [fact.text for fact in past])
    dropped += [fact.id for fact, is_gone in zip(past, is_forgotten, strict=True) if is_gone]
    await store.provenance.clear_excerpts(tx, scope, dropped)
    await store.delete(tx, scope, [*dropped, *(row.id for row in joined)])
    moved = [row for row in rows if row.normal not in existing]
    await _move_facts(tx, moved, into)
    await move_comparisons(tx, scope, into)
    await log_changes(tx, into.partition, "added", [row.id for row in moved])
    await log_changes(tx, scope.partition, "forgotten", [None])
    for table in (past_facts, endings, announcements, tool_changes, usage):
        in_history = table.c.partition == scope.partition
        await tx.execute(update(table).where(in_history).values(partition=into.partition))
    await move_tombstones(tx, scope, into, states[scope].salt)
    await tx.execute(delete(profiles).where(profiles.c.partition.in_([scope.partition, into.partition])))
    changed = [*(row.id for row in moved), *same.values()]
    sayings = [(fact_id, "host", None) for fact_id in changed]
    await store.keys.settle_keys(tx, into, sayings, now=store.clock.now())
    return MergeResult(moved=len(moved), joined=len(joined), dropped=len(dropped))


async def _queue_again(
    comparisons: Comparisons, tx: Transaction, scope: Scope, into: Scope, same: dict[str, str]
) -> None:
    """Have facts that wait in one scope wait in the other, which has them too."""
    waiting = [each for each in await comparisons.undecided(tx, scope) if each.fact_id in same]
    await comparisons.queue_undecided(tx, into, [replace(each, fact_id=same[each.fact_id]) for each in waiting])


async def _rows(tx: Transaction, scope: Scope) -> Sequence[Row[Any]]:
    columns: tuple[Any, ...] = (facts.c.row, facts.c.id, facts.c.text, facts.c.normal, facts.c.sensitive, facts.c.key)
    statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past()).order_by(facts.c.row)
    return (await tx.execute(statement)).all()


async def _existing_ids(tx: Transaction, scope: Scope, normals: Sequence[str]) -> dict[str, str]:
    statement = select(facts.c.normal, facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
    return {row.normal: row.id for row in await select_in(tx, statement, facts.c.normal, normals)}


async def _mark_sensitive(tx: Transaction, scope: Scope, fact_ids: Sequence[str]) -> None:
    """Make facts sensitive that were so under the other id of their person."""
    if not fact_ids:
        return
    state = await bump_revision(tx, scope)
    in_scope = facts.c.partition == scope.partition
    marked = update(facts).where(in_scope).values(sensitive=True, version=state.revision)
    await change_in(tx, marked, facts.c.id, fact_ids)
    await mark_dirty(tx, sorted(fact_ids), state.revision)


async def _relink_copies(tx: Transaction, scope: Scope, into: Scope, targets: dict[str, str]) -> None:
    """Let the copies that other scopes have of these facts name the scope and the facts that they are part of here."""
    is_copy = (sources.c.origin_scope == scope.partition) & sources.c.imported
    for fact_id, target in targets.items():
        await tx.execute(update(sources).where(is_copy, sources.c.origin_id == fact_id).values(origin_id=target))
    await tx.execute(update(sources).where(is_copy).values(origin_scope=into.partition))


async def _copy_sources(tx: Transaction, scope: Scope, targets: dict[str, str]) -> None:
    """Copy the sources of facts of `scope` to the same facts of the other scope; each names the fact it came from."""
    columns = [column for column in sources.c if column.name != "row"]
    found = await select_in(tx, select(*columns).order_by(sources.c.row), sources.c.fact_id, targets)
    copies = [
        {
            **row._mapping,
            "fact_id": targets[row.fact_id],
            "origin_scope": row.origin_scope or scope.partition,
            "origin_id": row.origin_id or row.fact_id,
        }
        for row in found
    ]
    upsert = dialect_insert(tx, sources).on_conflict_do_nothing(index_elements=[sources.c.fact_id, sources.c.origin])
    for chunk in in_chunks(copies):
        await tx.execute(upsert, chunk)


async def _rename_in_endings(tx: Transaction, scope: Scope, new_ids: dict[str, str]) -> None:
    """Have the endings of facts, and those by them, name the facts that they are one with."""
    for column in (endings.c.fact_id, endings.c.ended_by):
        for chunk in in_chunks(new_ids):
            is_meant = endings.c.partition == scope.partition, column.in_(chunk)
            renamed = {column: case({each: new_ids[each] for each in chunk}, value=column)}
            await tx.execute(update(endings).where(*is_meant).values(renamed))


async def _keep_due_dates(tx: Transaction, scope: Scope, into: Scope, targets: dict[str, str], version: int) -> None:
    """Give the facts that are known of both the due date of the other, if they have none."""
    columns = facts.c.id, *(facts.c[name] for name in DUE_FIELDS)
    is_due = facts.c.partition == scope.partition, facts.c.due_at.is_not(None)
    for row in await select_in(tx, select(*columns).where(*is_due, current_or_past()), facts.c.id, targets):
        due = {name: getattr(row, name) for name in DUE_FIELDS} | {"version": version}
        has_none = facts.c.id == targets[row.id], facts.c.due_at.is_(None)
        await tx.execute(update(facts).where(facts.c.partition == into.partition, *has_none).values(due))


async def _keep_keys(tx: Transaction, into: Scope, keys: dict[str, str], version: int) -> None:
    """Give the facts that are known of both the key of the other, if they have none."""
    for fact_id, key in keys.items():
        has_none = facts.c.partition == into.partition, facts.c.id == fact_id, facts.c.key.is_(None)
        await tx.execute(update(facts).where(*has_none).values(key=key, version=version))


async def _move_facts(tx: Transaction, rows: Sequence[Row[Any]], into: Scope) -> None:
    state = await bump_revision(tx, into)
    moved = update(facts).values(partition=into.partition, version=state.revision)
    await change_in(tx, moved, facts.c.row, [row.row for row in rows])
    await mark_dirty(tx, sorted(row.id for row in rows), state.revision)
