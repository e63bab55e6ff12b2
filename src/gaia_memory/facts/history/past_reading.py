"""The part of the fact store that reads what held at another time, without an index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select
from typing_extensions import override

from gaia_memory.facts.current import ClockedFactStore, current_or_past
from gaia_memory.facts.history.timeline import PAST_FACT_COLUMNS, Timeline, load_timeline
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    INDEXED_FACT_COLUMN_NAMES,
    fact_of,
    from_epoch_seconds,
    in_chunks,
    stack_vectors,
    to_indexed_fact,
)
from gaia_memory.facts.tables import endings, facts, past_facts, sources
from gaia_memory.language.text_features import has_current_version
from gaia_memory.models import Fact, FactEnd, PastIndex, PointInTime, Scope, StatementTime, extract_fact_features, holds
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.models import NewFact
    from gaia_memory.ports import Transaction

_INDEXED_COLUMNS = tuple(past_facts.c[name] for name in INDEXED_FACT_COLUMN_NAMES)


class PastReadingMixin(ClockedFactStore):
    """The part of the fact store that reads past facts together with the stored ones."""

    @override
    async def ids_as_of(self, tx: Transaction, scope: Scope, moment: PointInTime) -> list[str]:
        rows: list[Any] = []
        names = ("id", "row", "created_at", "valid_from", "valid_until")
        columns = [facts.c[name] for name in names]
        statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past())
        rows += (await tx.execute(statement)).all()
        past = select(*(past_facts.c[name] for name in names)).where(past_facts.c.partition == scope.partition)
        rows += (await tx.execute(past)).all()
        timeline = await _load_scope_timeline(tx, scope)
        return await run_in_thread(_ids_holding, rows, timeline, moment)

    @override
    async def get_any(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for chunk in in_chunks(fact_ids):
            is_stored = facts.c.partition == scope.partition, facts.c.id.in_(chunk)
            rows = list(await tx.execute(select(*FACT_COLUMNS).where(*is_stored, current_or_past())))
            is_past = past_facts.c.partition == scope.partition, past_facts.c.id.in_(chunk)
            rows += await tx.execute(select(*PAST_FACT_COLUMNS).where(*is_past))
            found |= {row.id: fact_of(row, scope) for row in rows}
        return found

    @override
    async def are_sensitive(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        normals = [normal_hash(fact.text) for fact in new_facts]
        sensitive = {normal for normal, fact in zip(normals, new_facts, strict=True) if fact.sensitive}
        for chunk in in_chunks(set(normals) - sensitive):
            is_meant = facts.c.partition == scope.partition, facts.c.normal.in_(chunk)
            known = select(facts.c.normal).where(*is_meant, facts.c.sensitive, current_or_past())
            is_past = past_facts.c.partition == scope.partition, past_facts.c.normal.in_(chunk)
            past = select(past_facts.c.normal).where(*is_past, past_facts.c.sensitive)
            sensitive |= {row.normal for row in await tx.execute(known.union(past))}
        keys: set[str] = set()
        for chunk in in_chunks({fact.key for fact in new_facts if fact.key is not None}):
            has_key = facts.c.partition == scope.partition, facts.c.key.in_(chunk), facts.c.sensitive
            keys |= set((await tx.execute(select(facts.c.key).where(*has_key, current_or_past()))).scalars())
        # What replaces a sensitive fact is as sensitive.
        return [normal in sensitive or fact.key in keys for normal, fact in zip(normals, new_facts, strict=True)]

    @override
    async def past_index(self, tx: Transaction, scope: Scope, embedder: str) -> PastIndex:
        statement = select(*_INDEXED_COLUMNS).where(past_facts.c.partition == scope.partition)
        rows = (await tx.execute(statement.order_by(past_facts.c.id))).all()
        outdated = await self.get_any(tx, scope, [row.id for row in rows if not has_current_version(row.traits)])
        in_scope = past_facts.c.partition == scope.partition, past_facts.c.embedder == embedder
        with_vector = select(past_facts.c.id, past_facts.c.vector).where(*in_scope, past_facts.c.vector.is_not(None))
        vectors = (await tx.execute(with_vector.order_by(past_facts.c.id))).all()
        return await run_in_thread(_build_index, rows, vectors, outdated)

    @override
    async def outdated(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str]
    ) -> dict[str, tuple[Fact, FactEnd]]:
        now = self._now()
        timeline = await load_timeline(tx, scope, fact_ids)
        found: dict[str, tuple[Fact, FactEnd]] = {}
        for chunk in in_chunks(fact_ids):
            is_expired = (facts.c.valid_until <= now) & facts.c.id.in_(chunk)
            expired = select(*FACT_COLUMNS).where(facts.c.partition == scope.partition, is_expired, current_or_past())
            for row in await tx.execute(expired):
                ended_at = from_epoch_seconds(row.valid_until)
                found[row.id] = (
                    fact_of(row, scope),
                    FactEnd(fact_id=row.id, ended_at=ended_at, why="expired", actor="clock"),
                )
            is_past = past_facts.c.partition == scope.partition, past_facts.c.id.in_(chunk)
            for row in await tx.execute(select(*PAST_FACT_COLUMNS).where(*is_past)):
                if standing := timeline.standing(row.id):
                    found[row.id] = fact_of(row, scope), _to_end(max(standing, key=lambda each: float(each.ended_at)))
        return found


async def _load_scope_timeline(tx: Transaction, scope: Scope) -> Timeline:
    """Return the timeline of all facts of a scope."""
    sayings: dict[str, list[StatementTime]] = {}
    for table in (facts, past_facts):
        columns = sources.c.fact_id, sources.c.said_at, sources.c.noted_at
        statement = select(*columns).join(table, table.c.id == sources.c.fact_id)
        for fact_id, said_at, noted_at in await tx.execute(statement.where(table.c.partition == scope.partition)):
            sayings.setdefault(fact_id, []).append(StatementTime(said_at, noted_at))
    ended: dict[str, list[Row[Any]]] = {}
    for row in await tx.execute(select(endings).where(endings.c.partition == scope.partition)):
        ended.setdefault(row.fact_id, []).append(row)
    return Timeline(sayings, ended)


def _ids_holding(rows: Sequence[Any], timeline: Timeline, moment: PointInTime) -> list[str]:
    held = [
        row
        for row in rows
        if holds(
            timeline.sayings.get(row.id, ()),
            timeline.ending_times(row.id),
            valid_from=row.valid_from,
            valid_until=row.valid_until,
            at=moment.at,
            known_at=moment.known_at,
        )
    ]
    return [row.id for row in sorted(held, key=lambda row: (row.row or 0, row.created_at, row.id))]


def _build_index(rows: Sequence[Any], vectors: Sequence[Any], outdated: Mapping[str, Fact]) -> PastIndex:
    """Return the index of these rows; of `outdated` facts the features were stored by another version."""
    recomputed = {fact_id: extract_fact_features(fact.text, fact.metadata) for fact_id, fact in outdated.items()}
    return PastIndex(
        [to_indexed_fact(row, recomputed.get(row.id)) for row in rows],
        [row.id for row in vectors],
        stack_vectors([row.vector for row in vectors]),
    )


def _to_end(row: Row[Any]) -> FactEnd:
    return FactEnd(
        fact_id=row.fact_id,
        ended_at=from_epoch_seconds(row.ended_at),
        why=row.why,
        actor=row.actor,
        ended_by=row.ended_by,
    )
