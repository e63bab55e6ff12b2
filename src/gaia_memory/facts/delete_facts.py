"""Deletes facts with everything stored about them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import delete as delete_from
from sqlalchemy import func, literal, select, update
from typing_extensions import override

from gaia_memory.facts import scopes
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.change_log import drop_changes, log_changes
from gaia_memory.facts.reconciling.undecided_facts import delete_all_comparisons, delete_comparisons
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import (
    announcements,
    endings,
    facts,
    forgotten_words,
    outbox,
    past_facts,
    profiles,
    sources,
    tool_changes,
)
from gaia_memory.facts.tombstones import drop_tombstones
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


class FactDeletionMixin(FactStore):
    """The part of the fact store that deletes facts, in one transaction each."""

    @override
    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        await scopes.load_scope(tx, scope)
        owned: dict[int, str] = {}
        removed = dict.fromkeys(("facts", "sources", "vectors", "profiles"), 0)
        for chunk in in_chunks(sorted(set(fact_ids))):
            columns = facts.c.row, facts.c.id, facts.c.vector.is_not(None).label("has_vector")
            statement = select(*columns).where(
                facts.c.partition == scope.partition, facts.c.id.in_(chunk), current_or_past()
            )
            for row in await tx.execute(statement):
                owned[row.row] = row.id
                removed["vectors"] += bool(row.has_vector)
        removed |= await _delete_past(tx, scope, fact_ids)
        await delete_comparisons(tx, scope, fact_ids)
        if not owned:
            return removed
        state = await scopes.bump_revision(tx, scope)
        for rows in in_chunks(owned):
            is_source = sources.c.fact_id.in_([owned[row] for row in rows])
            removed["sources"] += (await tx.execute(delete_from(sources).where(is_source))).rowcount
            await tx.execute(delete_from(facts).where(facts.c.row.in_(rows)))
        # The cached profile may quote a deleted fact.
        deleted_profiles = await tx.execute(delete_from(profiles).where(profiles.c.partition == scope.partition))
        await scopes.mark_dirty(tx, sorted(owned.values()), state.revision)
        await log_changes(tx, scope.partition, "forgotten", sorted(owned.values()))
        return removed | {"facts": len(owned), "profiles": deleted_profiles.rowcount}

    @override
    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        state = await scopes.bump_revision(tx, scope, forgotten_at=forgotten_at)
        in_scope = facts.c.partition == scope.partition
        vectors = await tx.scalar(select(func.count()).where(in_scope, facts.c.vector.is_not(None), current_or_past()))
        version = literal(state.revision, outbox.c.version.type)
        changed = select(facts.c.id, version).where(in_scope, current_or_past()).order_by(facts.c.id)
        dirty = scopes.dialect_insert(tx, outbox).from_select(["fact_id", "version"], changed)
        new_version = {"version": dirty.excluded.version}
        await tx.execute(dirty.on_conflict_do_update(index_elements=[outbox.c.fact_id], set_=new_version))
        of_scope = select(facts.c.id).where(in_scope, current_or_past())
        past = select(past_facts.c.id).where(past_facts.c.partition == scope.partition)
        is_source = sources.c.fact_id.in_(of_scope) | sources.c.fact_id.in_(past)
        removed = {
            "sources": (await tx.execute(delete_from(sources).where(is_source))).rowcount,
            "facts": (await tx.execute(delete_from(facts).where(in_scope))).rowcount,
            "vectors": vectors or 0,
        }
        deleted = await tx.execute(delete_from(profiles).where(profiles.c.partition == scope.partition))
        removed |= {"profiles": deleted.rowcount, "tombstones": await drop_tombstones(tx, scope)}
        await delete_all_comparisons(tx, scope)
        removed["facts"] += await self.drop_withdrawn(tx, scope)
        for table in (endings, announcements, tool_changes):
            await tx.execute(delete_from(table).where(table.c.partition == scope.partition))
        await drop_changes(tx, scope.partition)
        await log_changes(tx, scope.partition, "forgotten", [None])
        in_history = past_facts.c.partition == scope.partition
        if history := (await tx.execute(delete_from(past_facts).where(in_history))).rowcount:
            removed["history"] = history
        # `forgotten_at` keeps out everything said so far, so single facts need no tombstones.
        await tx.execute(delete_from(forgotten_words).where(forgotten_words.c.partition == scope.partition))
        return removed


async def _delete_past(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
    """Delete those of these facts that are past, with their sources; what else is noted of all of them."""
    found: dict[str, int] = {}
    for chunk in in_chunks(sorted(set(fact_ids))):
        is_meant = past_facts.c.partition == scope.partition, past_facts.c.id.in_(chunk)
        statement = delete_from(past_facts).where(*is_meant).returning(past_facts.c.id)
        if past := list((await tx.execute(statement)).scalars()):
            is_source = sources.c.fact_id.in_(past)
            removed = (await tx.execute(delete_from(sources).where(is_source))).rowcount
            found["sources"] = found.get("sources", 0) + removed
            found["history"] = found.get("history", 0) + len(past)
        for table in (endings, announcements, tool_changes):
            in_scope = table.c.partition == scope.partition
            await tx.execute(delete_from(table).where(in_scope, table.c.fact_id.in_(chunk)))
        is_by_them = endings.c.partition == scope.partition, endings.c.ended_by.in_(chunk)
        await tx.execute(update(endings).where(*is_by_them).values(ended_by=None))
    return found
