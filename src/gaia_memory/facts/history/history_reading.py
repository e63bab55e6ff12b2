"""The part of the fact store that tells when facts were true."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, exists, select
from typing_extensions import override

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.timeline import (
    PAST_FACT_COLUMNS,
    Timeline,
    ids_of_line,
    load_texts,
    load_timeline,
)
from gaia_memory.facts.rows import fact_of, from_epoch_seconds, in_chunks, to_epoch_seconds, unpack_vector
from gaia_memory.facts.tables import endings, facts, past_facts
from gaia_memory.models import NearbySayings, PastFact, StoredFact
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

_STORED_NAMES = ("version", "vector", "embedder", "row")
_STORED_PAST_COLUMNS = (*PAST_FACT_COLUMNS, *(past_facts.c[name] for name in _STORED_NAMES))


class HistoryReadingMixin(FactStore):
    """The part of the fact store that tells when facts were true."""

    @override
    async def stored(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, or_past: bool = False
    ) -> dict[str, StoredFact]:
        found: dict[str, StoredFact] = {}
        for chunk in in_chunks(fact_ids):
            in_scope = facts.c.partition == scope.partition, facts.c.id.in_(chunk)
            rows = list(await tx.execute(select(facts).where(*in_scope, current_or_past())))
            if or_past:
                in_past = past_facts.c.partition == scope.partition, past_facts.c.id.in_(chunk)
                rows += await tx.execute(select(*_STORED_PAST_COLUMNS).where(*in_past))
            found |= {row.id: _stored_fact(row, scope) for row in rows}
        return found

    @override
    async def past(
        self, tx: Transaction, scope: Scope, *, ended_after: datetime | None = None
    ) -> dict[str, StoredFact]:
        statement = select(*_STORED_PAST_COLUMNS).where(past_facts.c.partition == scope.partition)
        if ended_after is not None:
            is_its = (endings.c.partition == scope.partition) & (endings.c.fact_id == past_facts.c.id)
            is_later = endings.c.undone_at.is_(None) & (endings.c.ended_at > to_epoch_seconds(ended_after))
            statement = statement.where(exists().where(is_its, is_later))
        # The wordings of one fact were created together.
        order = past_facts.c.created_at, past_facts.c.updated_at, past_facts.c.id
        rows = await tx.execute(statement.order_by(*order))
        return {row.id: _stored_fact(row, scope) for row in rows}

    @override
    async def line(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        return await ids_of_line(tx, scope, fact_ids, ancestors_only=False)

    @override
    async def rivals(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        columns = endings.c.fact_id, endings.c.ended_by, endings.c.actor
        is_link = (endings.c.partition == scope.partition) & endings.c.undone_at.is_(None) & (endings.c.why != "merged")
        for chunk in in_chunks(sorted(fact_ids)):
            is_meant = endings.c.fact_id.in_(chunk) | endings.c.ended_by.in_(chunk)
            for row in await tx.execute(select(*columns).where(is_link, endings.c.ended_by.is_not(None), is_meant)):
                found.setdefault(row.fact_id, {})[row.ended_by] = row.actor
                found.setdefault(row.ended_by, {})[row.fact_id] = row.actor
        return {fact_id: others for fact_id, others in found.items() if fact_id in fact_ids}

    @override
    async def said_around(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], moment: datetime
    ) -> dict[str, NearbySayings]:
        timeline = await load_timeline(tx, scope, await load_texts(tx, scope, fact_ids))
        at = to_epoch_seconds(moment)
        return {fact_id: _said_around(fact_id, timeline, at) for fact_id in timeline.sayings}

    @override
    async def history(self, tx: Transaction, scope: Scope, fact_id: str) -> list[PastFact]:
        if fact_id not in await load_texts(tx, scope, [fact_id]):
            return []
        ids = await ids_of_line(tx, scope, [fact_id], ancestors_only=False)
        texts, timeline = await load_texts(tx, scope, ids), await load_timeline(tx, scope, ids)
        periods = [period for each in sorted(texts) for period in _periods(each, texts[each], timeline)]
        return [past for _, _, past in sorted(periods, key=lambda period: period[:2])]


def _stored_fact(row: Row[Any], scope: Scope) -> StoredFact:
    vector = None if row.vector is None else unpack_vector(row.vector)
    fact = fact_of(row, scope)
    return StoredFact(fact=fact, version=row.version, vector=vector, embedder=row.embedder, row=row.row or 0)


def _said_around(fact_id: str, timeline: Timeline, at: float) -> NearbySayings:
    # What has no date counts from when it was learned: that it was true before is no reason to end it.
    said = [noted if said is None else said for said, noted in timeline.sayings[fact_id]]
    since = max((each for each in said if each <= at), default=None)
    ended = max((row.ended_at for row in timeline.standing(fact_id) if row.ended_at <= at), default=-inf)
    again = min((each for each in said if each > at), default=None)
    return NearbySayings(
        since=None if since is None or since <= ended else from_epoch_seconds(since),
        again=None if again is None else from_epoch_seconds(again),
    )


def _periods(fact_id: str, text: str, timeline: Timeline) -> Iterator[tuple[float, float, PastFact]]:
    """Yield the periods in which a fact was true, each with the times to sort it by."""
    said_times = sorted(-inf if said is None else said for said, _ in timeline.sayings.get(fact_id, ()))
    remaining = said_times or [-inf]
    for row in sorted(timeline.standing(fact_id), key=lambda row: row.ended_at):
        before = [said for said in remaining if said <= row.ended_at]
        remaining = remaining[len(before) :]
        if before:
            period = _period(fact_id, text, before)
            ending = {"ended_by": row.ended_by, "why": row.why, "actor": row.actor}
            yield before[0], row.ended_at, replace(period, ended_at=from_epoch_seconds(row.ended_at), **ending)
    if remaining:
        yield remaining[0], inf, _period(fact_id, text, remaining)


def _period(fact_id: str, text: str, said: Sequence[float]) -> PastFact:
    return PastFact(id=fact_id, text=text, first_said_at=_to_time(said[0]), said_at=_to_time(said[-1]))


def _to_time(seconds: float) -> datetime | None:
    return None if seconds == -inf else from_epoch_seconds(seconds)
