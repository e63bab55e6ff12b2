"""The part of the fact store that counts and looks at all texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import compress
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, ColumnElement, Text, cast, exists, func, select, union_all
from typing_extensions import override

from gaia_memory.facts.current import ClockedFactStore, current, current_or_past
from gaia_memory.facts.rows import to_epoch_seconds
from gaia_memory.facts.tables import endings, facts, past_facts
from gaia_memory.language.homoglyphs import compose
from gaia_memory.models import DayCounts, FactCounts
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

_LABELS = ("category", "context", "source", "agent")
_DAY_SECONDS = 86_400


class FactCountMixin(ClockedFactStore):
    """The part of the fact store that counts facts by label and by day."""

    @override
    async def counts(self, tx: Transaction, scope: Scope) -> FactCounts:
        columns = [*(facts.c[name] for name in _LABELS), _day(tx, func.coalesce(facts.c.said_at, facts.c.created_at))]
        statement = select(*columns, func.count()).where(facts.c.partition == scope.partition, current(self._now()))
        counts = [Counter[Any]() for _ in columns]
        total = 0
        for *values, number in await tx.execute(statement.group_by(*columns)):
            total += number
            for counter, value in zip(counts, values, strict=True):
                counter[value] += number
        by_label = {
            name: {label or "": number for label, number in sorted(counter.items(), key=lambda item: item[0] or "")}
            for name, counter in zip(_LABELS, counts, strict=False)
        }
        return FactCounts(
            total=total, **by_label, day={_to_date(day): number for day, number in sorted(counts[-1].items())}
        )

    @override
    async def ids_containing(self, tx: Transaction, scope: Scope, parts: Sequence[str]) -> list[str]:
        statement = select(facts.c.id, facts.c.text).where(facts.c.partition == scope.partition, current(self._now()))
        ordered = statement.order_by(facts.c.row).subquery()
        # One row for all: 10,000 rows take twice as long, and the garbage collection that they bring on ten times.
        collect = func.json_agg if tx.dialect.name == "postgresql" else func.json_group_array
        lists = select(cast(collect(ordered.c.id), Text), cast(collect(ordered.c.text), Text))
        ids, texts = (await tx.execute(lists)).one()
        return await run_in_thread(_select_containing, ids, texts, parts)

    @override
    async def days(self, tx: Transaction, scope: Scope, *, since: datetime) -> list[DayCounts]:
        start = to_epoch_seconds(since) // _DAY_SECONDS * _DAY_SECONDS
        is_ended = endings.c.partition == scope.partition, endings.c.noted_at >= start, endings.c.undone_at.is_(None)
        # The wordings of a fact have its `created_at`: each later one was stored when it took the place of another.
        is_wording = (past_facts.c.id == endings.c.fact_id) & past_facts.c.wording_of.is_not(None)
        is_reworded = exists().where(is_wording, endings.c.why == "replaced")
        added = [
            select(_day(tx, facts.c.created_at)).where(
                facts.c.partition == scope.partition, facts.c.created_at >= start, current_or_past()
            ),
            select(_day(tx, past_facts.c.created_at)).where(
                past_facts.c.partition == scope.partition,
                past_facts.c.created_at >= start,
                past_facts.c.wording_of.is_(None),
            ),
            select(_day(tx, endings.c.noted_at)).where(*is_ended, is_reworded),
        ]
        all_added = union_all(*added)
        added_by_day = Counter((await tx.execute(all_added)).scalars())
        ended_by_day = Counter((await tx.execute(select(_day(tx, endings.c.noted_at)).where(*is_ended))).scalars())
        return [
            DayCounts(day=_to_date(day), added=added_by_day[day], ended=ended_by_day[day])
            for day in sorted(added_by_day.keys() | ended_by_day.keys())
        ]


def _select_containing(ids: str | None, texts: str | None, parts: Sequence[str]) -> list[str]:
    wanted = [compose(part).casefold() for part in parts]
    folded = (compose(text).casefold() for text in json.loads(texts or "[]"))
    is_found = (all(part in text for part in wanted) for text in folded)
    return list(compress(json.loads(ids or "[]"), is_found))


def _day(tx: Transaction, seconds: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the number of the day of a time, from the first of January 1970 on."""
    # PostgreSQL rounds in a cast, SQLite cuts off.
    whole = cast(func.floor(seconds) if tx.dialect.name == "postgresql" else seconds, BigInteger)
    return (whole // _DAY_SECONDS).label("day")


def _to_date(day: int) -> date:
    return datetime.fromtimestamp(day * _DAY_SECONDS, UTC).date()
