"""Makes one scope's facts another's, with all that is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, delete, select, update

from gaia_memory.facts.delete_facts import buried, join_tombstones
from gaia_memory.facts.delete_facts import delete as delete_facts
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.scopes import insert, mark_dirty, raise_revision
from gaia_memory.facts.tables import facts, profiles, sources
from gaia_memory.language.tokenizer import FORM
from gaia_memory.models import Merged, Scope

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


async def merge(tx: Transaction, scope: Scope, into: Scope) -> Merged:
    """Move every fact of `scope`, its sources and its tombstones; ids stay, and what both know stands once.

    What `into` has forgotten is dropped, and `into` has forgotten from now on what either had.
    """
    # Both in one order: two who merge the same people wait for one another, and never both.
    states = {each: await raise_revision(tx, each) for each in sorted((scope, into), key=lambda it: it.partition)}
    await raise_revision(tx, into, forgotten_at=states[scope].forgotten_at)
    rows = await _rows(tx, scope)
    gone = await buried(tx, into, [row.text for row in rows])
    dropped = [row.id for row, is_gone in zip(rows, gone, strict=True) if is_gone]
    rows = [row for row, is_gone in zip(rows, gone, strict=True) if not is_gone]
    known = await _known(tx, into, [row.normal for row in rows])
    joined = [row for row in rows if row.normal in known]
    await _join_sources(tx, {row.row: known[row.normal] for row in joined})
    await delete_facts(tx, scope, [*dropped, *(row.id for row in joined)])
    moved = [row for row in rows if row.normal not in known]
    await _move(tx, moved, into)
    await join_tombstones(tx, scope, into, states[scope].salt)
    await tx.execute(delete(profiles).where(profiles.c.partition.in_([scope.partition, into.partition])))
    return Merged(moved=len(moved), joined=len(joined), dropped=len(dropped))


async def _rows(tx: Transaction, scope: Scope) -> Sequence[Row[Any]]:
    columns: tuple[Any, ...] = (facts.c.row, facts.c.id, facts.c.text, facts.c.normal)
    statement = select(*columns).where(facts.c.partition == scope.partition).order_by(facts.c.row)
    return (await tx.execute(statement)).all()


async def _known(tx: Transaction, scope: Scope, normals: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in in_chunks(normals):
        mine = select(facts.c.normal, facts.c.row).where(facts.c.partition == scope.partition)
        found |= {row.normal: row.row for row in await tx.execute(mine.where(facts.c.normal.in_(chunk)))}
    return found


async def _join_sources(tx: Transaction, targets: dict[int, int]) -> None:
    """Give facts the sources of those that say the same."""
    for chunk in in_chunks(targets):
        statement = select(sources).where(sources.c.fact_row.in_(chunk)).order_by(sources.c.row)
        found = [dict(row._mapping) for row in await tx.execute(statement)]
        given = [{**row, "fact_row": targets[row["fact_row"]]} for row in found]
        for row in given:
            del row["row"]
        if given:
            joining = insert(tx, sources).on_conflict_do_nothing(index_elements=[sources.c.fact_row, sources.c.origin])
            await tx.execute(joining, given)


async def _move(tx: Transaction, rows: Sequence[Row[Any]], into: Scope) -> None:
    state = await raise_revision(tx, into)
    for chunk in in_chunks(rows):
        places = [row.row for row in chunk]
        await keyword_index.unindex(tx, places)
        moving = update(facts).where(facts.c.row.in_(places))
        await tx.execute(moving.values(partition=into.partition, version=state.revision, form=FORM))
        await keyword_index.index(tx, state.number, ((row.row, row.text) for row in chunk))
    await mark_dirty(tx, sorted(row.id for row in rows), state.revision)
