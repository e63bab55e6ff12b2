"""Reads past facts together with the stored ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.timeline import PAST_FACT_COLUMNS, Timeline, load_timeline
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    fact_of,
    from_epoch_seconds,
    indexed_columns,
    select_in,
    stack_vectors,
    to_epoch_seconds,
    to_indexed_fact,
)
from gaia_memory.facts.tables import endings, facts, past_facts, sources
from gaia_memory.language.text_features import has_current_version
from gaia_memory.models import Fact, FactEnd, PastIndex, PointInTime, Scope, StatementTime, extract_fact_features, holds
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.models import NewFact
    from gaia_memory.ports import Clock, Transaction

_INDEXED_COLUMNS = indexed_columns(past_facts)


class PastFacts:
    """Reads what held at another time, without an index."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that says which facts have expired."""
        self._clock = clock

    async def ids_as_of(self, tx: Transaction, scope: Scope, moment: PointInTime) -> list[str]:
        """Return the ids of the facts that held at a time by what was known at another, oldest first."""
        rows: list[Any] = []
        names = ("id", "row", "created_at", "valid_from", "valid_until")
        columns = [facts.c[name] for name in names]
        statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past())
        rows += (await tx.execute(statement)).all()
        past = select(*(past_facts.c[name] for name in names)).where(past_facts.c.partition == scope.partition)
        rows += (await tx.execute(past)).all()
        timeline = await _load_scope_timeline(tx, scope)
        return await run_in_thread(_ids_holding, rows, timeline, moment)

    async def get_any(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts of this scope with these ids, stored or past; other ids are left out."""
        stored = select(*FACT_COLUMNS).where(facts.c.partition == scope.partition, current_or_past())
        past = select(*PAST_FACT_COLUMNS).where(past_facts.c.partition == scope.partition)
        rows = await select_in(tx, stored, facts.c.id, fact_ids)
        rows += await select_in(tx, past, past_facts.c.id, fact_ids)
        return {row.id: fact_of(row, scope) for row in rows}

    async def are_sensitive(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Return whether each fact, another of them, or a known one, current or past, keeps its text as sensitive."""
        normals = [normal_hash(fact.text) for fact in new_facts]
        sensitive = {normal for normal, fact in zip(normals, new_facts, strict=True) if fact.sensitive}
        others = set(normals) - sensitive
        is_stored = facts.c.partition == scope.partition, facts.c.sensitive
        known = select(facts.c.normal).where(*is_stored, current_or_past())
        past = select(past_facts.c.normal).where(past_facts.c.partition == scope.partition, past_facts.c.sensitive)
        sensitive |= {row.normal for row in await select_in(tx, known, facts.c.normal, others)}
        sensitive |= {row.normal for row in await select_in(tx, past, past_facts.c.normal, others)}
        keyed = select(facts.c.key).where(*is_stored, current_or_past())
        wanted = {fact.key for fact in new_facts if fact.key is not None}
        keys = {row.key for row in await select_in(tx, keyed, facts.c.key, wanted)}
        # What replaces a sensitive fact is as sensitive.
        return [normal in sensitive or fact.key in keys for normal, fact in zip(normals, new_facts, strict=True)]

    async def past_index(self, tx: Transaction, scope: Scope, embedder: str) -> PastIndex:
        """Return what recall compares of the facts that ended, with the vectors that `embedder` made."""
        statement = select(*_INDEXED_COLUMNS).where(past_facts.c.partition == scope.partition)
        rows = (await tx.execute(statement.order_by(past_facts.c.id))).all()
        outdated = await self.get_any(tx, scope, [row.id for row in rows if not has_current_version(row.traits)])
        in_scope = past_facts.c.partition == scope.partition, past_facts.c.embedder == embedder
        with_vector = select(past_facts.c.id, past_facts.c.vector).where(*in_scope, past_facts.c.vector.is_not(None))
        vectors = (await tx.execute(with_vector.order_by(past_facts.c.id))).all()
        return await run_in_thread(_build_index, rows, vectors, outdated)

    async def outdated(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str]
    ) -> dict[str, tuple[Fact, FactEnd]]:
        """Return those of these facts that have ended or expired, each with its last ending."""
        now = to_epoch_seconds(self._clock.now())
        timeline = await load_timeline(tx, scope, fact_ids)
        found: dict[str, tuple[Fact, FactEnd]] = {}
        is_expired = facts.c.partition == scope.partition, facts.c.valid_until <= now
        expired = select(*FACT_COLUMNS).where(*is_expired, current_or_past())
        for row in await select_in(tx, expired, facts.c.id, fact_ids):
            ended_at = from_epoch_seconds(row.valid_until)
            end = FactEnd(fact_id=row.id, ended_at=ended_at, why="expired", actor="clock")
            found[row.id] = fact_of(row, scope), end
        past = select(*PAST_FACT_COLUMNS).where(past_facts.c.partition == scope.partition)
        for row in await select_in(tx, past, past_facts.c.id, fact_ids):
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
