"""Reads what is known about when facts were said and when they ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.rows import FACT_COLUMN_NAMES, select_in
from gaia_memory.facts.tables import endings, facts, past_facts, sources
from gaia_memory.models import EndTime, StatementTime

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

PAST_FACT_COLUMNS = tuple(past_facts.c[name] for name in FACT_COLUMN_NAMES if name != "row")
"""The columns of a past fact that `fact_of` reads."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The sayings of some facts, and their endings in the order in which they were noted, both by the fact's id."""

    sayings: Mapping[str, list[StatementTime]] = field(default_factory=dict)
    endings: Mapping[str, list[Row[Any]]] = field(default_factory=dict)

    def last_said_at(self, fact_id: str) -> float | None:
        """Return when a fact was said last; None if nobody knows."""
        return max((said for said, _ in self.sayings.get(fact_id, ()) if said is not None), default=None)

    def standing(self, fact_id: str) -> list[Row[Any]]:
        """Return the endings of a fact that were not undone."""
        return [row for row in self.endings.get(fact_id, ()) if row.undone_at is None]

    def last_ended_at(self, fact_id: str) -> float | None:
        """Return when a fact ended last, by the endings that were not undone; None without one."""
        return max((row.ended_at for row in self.standing(fact_id)), default=None)

    def has_ended(self, fact_id: str) -> bool:
        """Return whether a fact has ended and was not said since."""
        ended, said = self.last_ended_at(fact_id), self.last_said_at(fact_id)
        return ended is not None and (said is None or said <= ended)

    def ending_times(self, fact_id: str) -> list[EndTime]:
        """Return the times of a fact's endings."""
        rows = self.endings.get(fact_id, ())
        return [EndTime(row.ended_at, row.noted_at, row.undone_at, row.why == "untrue") for row in rows]

    def untrue_until(self, fact_id: str) -> float:
        """Return until when nothing that was said of a fact is true."""
        return max((row.ended_at for row in self.standing(fact_id) if row.why == "untrue"), default=-inf)


async def load_timeline(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> Timeline:
    """Return the timeline of these facts of a scope."""
    sayings: dict[str, list[StatementTime]] = {}
    ended: dict[str, list[Row[Any]]] = {}
    said = select(sources.c.fact_id, sources.c.said_at, sources.c.noted_at)
    for row in await select_in(tx, said, sources.c.fact_id, fact_ids):
        sayings.setdefault(row.fact_id, []).append(StatementTime(row.said_at, row.noted_at))
    statement = select(endings).where(endings.c.partition == scope.partition)
    statement = statement.order_by(endings.c.noted_at, endings.c.row)
    for ending in await select_in(tx, statement, endings.c.fact_id, fact_ids):
        ended.setdefault(ending.fact_id, []).append(ending)
    return Timeline(sayings, ended)


async def ids_of_line(tx: Transaction, scope: Scope, fact_ids: Iterable[str], *, ancestors_only: bool) -> set[str]:
    """Return these facts and those that they replaced, directly or not, and those that replaced them.

    With `ancestors_only`, only what they replaced and is past. Endings that were undone connect nothing.
    """
    columns = endings.c.fact_id, endings.c.ended_by
    is_link = (endings.c.partition == scope.partition) & endings.c.ended_by.is_not(None) & endings.c.undone_at.is_(None)
    links: dict[str, set[str]] = {}
    for row in await tx.execute(select(*columns).where(is_link)):
        links.setdefault(row.ended_by, set()).add(row.fact_id)
        if not ancestors_only:
            links.setdefault(row.fact_id, set()).add(row.ended_by)
    found, waiting = set[str](), set(fact_ids)
    # What is current again is no earlier value.
    current = await stored_ids(tx, scope, {each for ids in links.values() for each in ids}) if ancestors_only else set()
    while waiting:
        found |= waiting
        waiting = {linked for fact_id in waiting for linked in links.get(fact_id, ())} - found - current
    return found


async def stored_ids(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
    """Return those of these ids whose facts have not ended, whatever their validity."""
    statement = select(facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
    return {row.id for row in await select_in(tx, statement, facts.c.id, fact_ids)}


async def load_texts(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, str]:
    """Return the texts of those of these facts that are in the scope, current or past."""
    stored = select(facts.c.id, facts.c.text).where(facts.c.partition == scope.partition, current_or_past())
    past = select(past_facts.c.id, past_facts.c.text).where(past_facts.c.partition == scope.partition)
    rows = await select_in(tx, stored, facts.c.id, fact_ids)
    return {row.id: row.text for row in (*rows, *await select_in(tx, past, past_facts.c.id, fact_ids))}
