"""The provenance of facts: the conversations and events they were learned from."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Table, delete, exists, func, or_, select, true, update

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.rows import change_in, from_epoch_seconds, in_chunks, scope_of, select_in
from gaia_memory.facts.scopes import bump_revision, mark_dirty
from gaia_memory.facts.tables import facts, past_facts, scopes, sources
from gaia_memory.models import Origin, SessionKey

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

_FACT_TABLES = (facts, past_facts)


class Provenance:
    """Knows where facts came from."""

    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        """Return the conversations these facts were learned from, each with the ids of the events used."""
        found: dict[SessionKey, set[str]] = {}
        statement = select(sources.c.app, sources.c.session_id, sources.c.event_ids).where(
            _is_of_scope(scope), sources.c.session_id.is_not(None)
        )
        for row in await select_in(tx, statement, sources.c.fact_id, fact_ids):
            app = scope.app if row.app is None else decode_id(row.app)
            if app is not None:
                key = SessionKey(app, scope.user, decode_id(row.session_id))
                found.setdefault(key, set()).update(row.event_ids)
        return found

    async def known_origins(self, tx: Transaction, scope: Scope, origin_scope: str, ids: Collection[str]) -> set[str]:
        """Return those of the `ids` in `origin_scope` from which a fact of `scope`, current or past, was copied."""
        is_here = [exists().where(t.c.id == sources.c.fact_id, t.c.partition == scope.partition) for t in _FACT_TABLES]
        statement = select(sources.c.origin_id).where(sources.c.origin_scope == origin_scope, or_(*is_here))
        return {row.origin_id for row in await select_in(tx, statement, sources.c.origin_id, ids)}

    async def origins(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None = None
    ) -> dict[str, list[Origin]]:
        """Return the sources of these facts, current or past, or of all, by the fact's id, oldest first."""
        statement = select(sources).where(_is_of_scope(scope)).order_by(sources.c.row)
        if fact_ids is None:
            rows = list(await tx.execute(statement))
        else:
            rows = await select_in(tx, statement, sources.c.fact_id, fact_ids)
        found: dict[str, list[Origin]] = {}
        for row in rows:
            origin = Origin(
                source=row.kind,
                app=None if row.app is None else decode_id(row.app),
                session_id=None if row.session_id is None else decode_id(row.session_id),
                seq=row.seq,
                said_at=None if row.said_at is None else from_epoch_seconds(row.said_at),
                event_ids=tuple(row.event_ids),
                turn_event_ids=tuple(row.turn_event_ids),
                noted_at=from_epoch_seconds(row.noted_at),
                agent=row.agent,
                channel=row.channel,
                excerpt=row.excerpt,
                extractor=row.extractor,
                is_imported=row.imported,
                origin_scope=row.origin_scope,
                origin_id=row.origin_id,
            )
            found.setdefault(row.fact_id, []).append(origin)
        return found

    async def clear_excerpts(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Empty the excerpt of every source in this scope that shares an event with a source of these facts."""
        events_by_session: dict[str | None, set[str]] = {}
        columns = sources.c.session_id, sources.c.event_ids, sources.c.turn_event_ids
        for row in await select_in(tx, select(*columns).where(_is_of_scope(scope)), sources.c.fact_id, fact_ids):
            events_by_session.setdefault(row.session_id, set()).update(row.event_ids, row.turn_event_ids)
        for session_id, event_ids in events_by_session.items():
            if not event_ids:
                continue
            is_candidate = sources.c.session_id.is_not_distinct_from(session_id) & sources.c.excerpt.is_not(None)
            statement = select(sources.c.row, sources.c.event_ids, sources.c.turn_event_ids)
            rows = await tx.execute(statement.where(_is_of_scope(scope), is_candidate))
            shared = [row.row for row in rows if not event_ids.isdisjoint((*row.event_ids, *row.turn_event_ids))]
            await change_in(tx, update(sources).values(excerpt=None), sources.c.row, shared)

    async def copies(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        fact_ids: Collection[str] | None = None,
        session_id: str | None = None,
        past: bool = False,
    ) -> dict[Scope, list[str]]:
        """Return the ids of facts that imports made in other scopes from facts of this one, by their scope.

        With `fact_ids` those made from these facts, with `session_id` those that name that conversation; the facts may
        be gone by now. These are the current ones or, if `past`, those that have ended there.
        """
        copied = select(sources.c.fact_id).where(_is_copied(scope, fact_ids, session_id))
        table, is_there = (past_facts, true()) if past else (facts, current_or_past())
        statement = (
            select(table.c.id, scopes.c.app, scopes.c.user_id)
            .join(scopes, scopes.c.partition == table.c.partition)
            .where(table.c.partition != scope.partition, table.c.id.in_(copied), is_there)
            .order_by(table.c.row)
        )
        found: dict[Scope, list[str]] = {}
        for row in await tx.execute(statement):
            found.setdefault(scope_of(row.app, row.user_id), []).append(row.id)
        return found

    async def drop_copied_sources(
        self,
        tx: Transaction,
        scope: Scope,
        fact_ids: Collection[str],
        *,
        of: Scope,
        origin_ids: Collection[str] | None = None,
        session_id: str | None = None,
    ) -> list[str]:
        """Remove from facts of `scope` the sources that make them `copies`; return the ids of those without others.

        A fact with other sources moves to the position of the oldest of them. Those without others are not changed.
        """
        is_copied = _is_copied(of, origin_ids, session_id)
        without_source: list[str] = []
        state = await bump_revision(tx, scope)
        for chunk in in_chunks(fact_ids):
            shared = select(sources.c.fact_id).where(sources.c.fact_id.in_(chunk), is_copied.is_not(true()))
            kept = set((await tx.execute(shared)).scalars())
            without_source += [each for each in chunk if each not in kept]
            if kept:
                await tx.execute(delete(sources).where(sources.c.fact_id.in_(kept), is_copied))
                await _reassign_to_latest_source(tx, facts.c.id.in_(kept), state.revision)
                await mark_dirty(tx, sorted(kept), state.revision)
        return without_source

    async def sourced_only_from(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        """Return the ids of facts whose only source is this conversation."""
        is_taught_alone = _is_learned_from(facts, scope, session_id, has_others=False)
        statement = select(facts.c.id).where(is_taught_alone, current_or_past()).order_by(facts.c.row)
        past = select(past_facts.c.id).where(_is_learned_from(past_facts, scope, session_id, has_others=False))
        return [*(await tx.execute(statement)).scalars(), *(await tx.execute(past)).scalars()]

    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        """Remove this conversation from the sources of facts that have others; return how many rows.

        A fact positioned in this conversation moves to the position of its latest remaining source.
        """
        is_taught_with_others = _is_learned_from(facts, scope, session_id, has_others=True)
        shared = select(facts.c.id).where(is_taught_with_others, current_or_past()).order_by(facts.c.row)
        past = select(past_facts.c.id).where(_is_learned_from(past_facts, scope, session_id, has_others=True))
        ids = [*(await tx.execute(shared)).scalars(), *(await tx.execute(past)).scalars()]
        if not ids:
            return 0
        state = await bump_revision(tx, scope)
        removed, moved = 0, []
        for chunk in in_chunks(ids):
            statement = delete(sources).where(sources.c.fact_id.in_(chunk), _is_from_session(session_id))
            removed += (await tx.execute(statement)).rowcount
            positioned_there = facts.c.id.in_(chunk) & (facts.c.session_id == encode_id(session_id))
            moved += await _reassign_to_latest_source(tx, positioned_there, state.revision)
        await mark_dirty(tx, sorted(moved), state.revision)
        return removed


async def _reassign_to_latest_source(tx: Transaction, condition: ColumnElement[bool], version: int) -> list[str]:
    """Give the facts that meet the condition the position of their latest source; return their ids."""
    statement = (
        select(sources)
        .join(facts, facts.c.id == sources.c.fact_id)
        .where(condition, current_or_past())
        .order_by(func.coalesce(sources.c.said_at, sources.c.noted_at), sources.c.row.desc())
    )
    latest = {row.fact_id: row for row in await tx.execute(statement)}
    for fact_id, source in latest.items():
        position: dict[str, Any] = {"session_id": source.session_id, "seq": source.seq, "said_at": source.said_at}
        kind = "import" if source.imported else source.kind
        await tx.execute(update(facts).where(facts.c.id == fact_id).values(**position, source=kind, version=version))
    return list(latest)


def _is_of_scope(scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a source is one of a current or past fact of this scope."""
    current_ids = select(facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
    past_ids = select(past_facts.c.id).where(past_facts.c.partition == scope.partition)
    return sources.c.fact_id.in_(current_ids) | sources.c.fact_id.in_(past_ids)


def _is_learned_from(table: Table, scope: Scope, session_id: str, *, has_others: bool) -> ColumnElement[bool]:
    """Return the condition that a conversation taught a fact of this table, alone or with other sources."""
    is_taught = (table.c.partition == scope.partition) & _has_source(table, _is_from_session(session_id))
    is_shared = _has_source(table, ~_is_from_session(session_id))
    return is_taught & (is_shared if has_others else ~is_shared)


def _is_copied(scope: Scope, fact_ids: Collection[str] | None, session_id: str | None) -> ColumnElement[bool]:
    """Return the condition that an import made a source from a fact of `scope`: from these, or from a conversation."""
    is_copied = (sources.c.origin_scope == scope.partition) & sources.c.imported
    if fact_ids is not None:
        return is_copied & sources.c.origin_id.in_(fact_ids)
    return is_copied if session_id is None else is_copied & _is_from_session(session_id)


def _has_source(table: Table, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(sources.c.fact_id == table.c.id, condition).correlate(table)


def _is_from_session(session_id: str) -> ColumnElement[bool]:
    return sources.c.session_id.is_not_distinct_from(encode_id(session_id))
