"""The provenance of facts: the conversations and events they were learned from."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, delete, exists, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.rows import from_epoch_seconds, in_chunks
from gaia_memory.facts.scopes import bump_revision, mark_dirty
from gaia_memory.facts.tables import facts, past_facts, sources
from gaia_memory.models import Origin, SessionKey
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


class ProvenanceMixin(FactStore):
    """The part of the fact store that knows where facts came from."""

    @override
    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        found: dict[SessionKey, set[str]] = {}
        for chunk in in_chunks(fact_ids):
            statement = (
                select(sources.c.app, sources.c.session_id, sources.c.event_ids)
                .join(facts, facts.c.id == sources.c.fact_id)
                .where(facts.c.partition == scope.partition, facts.c.id.in_(chunk), current_or_past())
                .where(sources.c.session_id.is_not(None))
            )
            for row in await tx.execute(statement):
                app = scope.app if row.app is None else decode_id(row.app)
                if app is not None:
                    key = SessionKey(app, scope.user, decode_id(row.session_id))
                    found.setdefault(key, set()).update(row.event_ids)
        return found

    @override
    async def origins(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None = None
    ) -> dict[str, list[Origin]]:
        statement = (
            select(sources)
            .join(facts, facts.c.id == sources.c.fact_id)
            .where(facts.c.partition == scope.partition, current())
            .order_by(sources.c.row)
        )
        chunks = (
            [statement] if fact_ids is None else [statement.where(facts.c.id.in_(ids)) for ids in in_chunks(fact_ids)]
        )
        found: dict[str, list[Origin]] = {}
        for row in [row for chunk in chunks for row in await tx.execute(chunk)]:
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

    @override
    async def clear_excerpts(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        events_by_session: dict[str | None, set[str]] = {}
        for chunk in in_chunks(fact_ids):
            statement = (
                select(sources.c.session_id, sources.c.event_ids, sources.c.turn_event_ids)
                .join(facts, facts.c.id == sources.c.fact_id)
                .where(facts.c.partition == scope.partition, facts.c.id.in_(chunk), current_or_past())
            )
            for row in await tx.execute(statement):
                events_by_session.setdefault(row.session_id, set()).update(row.event_ids, row.turn_event_ids)
        of_scope = select(facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
        past = select(past_facts.c.id).where(past_facts.c.partition == scope.partition)
        is_of_scope = sources.c.fact_id.in_(of_scope) | sources.c.fact_id.in_(past)
        for session_id, event_ids in events_by_session.items():
            if not event_ids:
                continue
            is_candidate = sources.c.session_id.is_not_distinct_from(session_id) & sources.c.excerpt.is_not(None)
            statement = select(sources.c.row, sources.c.event_ids, sources.c.turn_event_ids)
            rows = await tx.execute(statement.where(is_of_scope, is_candidate))
            shared = [row.row for row in rows if not event_ids.isdisjoint((*row.event_ids, *row.turn_event_ids))]
            for chunk in in_chunks(shared):
                await tx.execute(update(sources).where(sources.c.row.in_(chunk)).values(excerpt=None))

    @override
    async def sourced_only_from(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        is_taught_alone = _is_learned_from(scope, session_id, has_others=False)
        statement = select(facts.c.id).where(is_taught_alone, current_or_past())
        return list((await tx.execute(statement.order_by(facts.c.row))).scalars())

    @override
    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        is_taught_with_others = _is_learned_from(scope, session_id, has_others=True)
        shared = select(facts.c.id).where(is_taught_with_others, current_or_past())
        ids = list((await tx.execute(shared.order_by(facts.c.row))).scalars())
        if not ids:
            return 0
        state = await bump_revision(tx, scope)
        removed, moved = 0, []
        for chunk in in_chunks(ids):
            statement = delete(sources).where(sources.c.fact_id.in_(chunk), _is_from_session(session_id))
            removed += (await tx.execute(statement)).rowcount
            moved += await _reassign_to_oldest_source(tx, chunk, session_id, state.revision)
        await mark_dirty(tx, sorted(moved), state.revision)
        return removed


async def _reassign_to_oldest_source(tx: Transaction, ids: list[str], session_id: str, version: int) -> list[str]:
    statement = (
        select(sources)
        .join(facts, facts.c.id == sources.c.fact_id)
        .where(facts.c.id.in_(ids), facts.c.session_id == encode_id(session_id), current_or_past())
        .order_by(sources.c.row.desc())
    )
    oldest = {row.fact_id: row for row in await tx.execute(statement)}
    for fact_id, source in oldest.items():
        position: dict[str, Any] = {"session_id": source.session_id, "seq": source.seq, "said_at": source.said_at}
        kind = "import" if source.imported else source.kind
        await tx.execute(update(facts).where(facts.c.id == fact_id).values(**position, source=kind, version=version))
    return list(oldest)


def _is_learned_from(scope: Scope, session_id: str, *, has_others: bool) -> ColumnElement[bool]:
    """Return the condition that a conversation taught a fact, alone or with other sources."""
    is_taught = (facts.c.partition == scope.partition) & _has_source(_is_from_session(session_id))
    is_shared = _has_source(~_is_from_session(session_id))
    return is_taught & (is_shared if has_others else ~is_shared)


def _has_source(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(sources.c.fact_id == facts.c.id, condition).correlate(facts)


def _is_from_session(session_id: str) -> ColumnElement[bool]:
    return sources.c.session_id.is_not_distinct_from(encode_id(session_id))
