"""Finds past facts that are said again, and makes those current that were said since they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, exists, select, update

from gaia_memory.facts.history.move_facts import move_to_current
from gaia_memory.facts.history.repeated_statements import add_sayings, time_of
from gaia_memory.facts.history.timeline import PAST_FACT_COLUMNS, Timeline, load_timeline
from gaia_memory.facts.rows import from_epoch_seconds, select_in, to_epoch_seconds
from gaia_memory.facts.tables import past_facts
from gaia_memory.models import UNCONFIRMED_KEY, Draft, is_of_model

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

_TIE = timedelta(microseconds=1)
"""How much later than an ending a statement counts that is made at the same moment, but after it."""


async def find_past(tx: Transaction, scope: Scope, normals: Sequence[str]) -> dict[str, Row[Any]]:
    """Return the past facts of a scope with these normal forms; one short statement if there are none at all."""
    in_scope = past_facts.c.partition == scope.partition
    if not normals or not (await tx.execute(select(exists().where(in_scope)))).scalar_one():
        return {}
    statement = select(*PAST_FACT_COLUMNS, past_facts.c.normal, past_facts.c.traits).where(in_scope)
    return {row.normal: row for row in await select_in(tx, statement, past_facts.c.normal, normals)}


async def revive(
    tx: Transaction,
    scope: Scope,
    past: Mapping[str, Row[Any]],
    drafts_by_form: dict[str, list[Draft]],
    state: Row[Any],
    now: datetime,
) -> set[str]:
    """Make those past facts current that a draft says after they ended; return the normal forms of the others.

    Drafts that do so without a date are given one in `drafts_by_form`. The other facts get what the drafts add.
    """
    timeline = await load_timeline(tx, scope, [row.id for row in past.values()])
    revived: list[str] = []
    staying: set[str] = set()
    for normal, row in past.items():
        drafts = [_dated(draft, timeline.last_ended_at(row.id), now) for draft in drafts_by_form[normal]]
        since = [draft for draft in drafts if _is_said_since(draft, row, timeline, now)]
        if not since:
            staying.add(normal)
            if changes := add_sayings(dict(row._mapping), drafts, now):
                is_meant = past_facts.c.partition == scope.partition, past_facts.c.id == row.id
                await tx.execute(update(past_facts).where(*is_meant).values(changes))
            continue
        revived.append(row.id)
        drafts_by_form[normal] = drafts
        if all(is_of_model(draft.fact.metadata) for draft in since):
            values: dict[str, Any] = {"metadata": {**row.metadata, UNCONFIRMED_KEY: True}}
            values["said_at"] = max(time_of(draft, now) for draft in since)
            is_meant = past_facts.c.partition == scope.partition, past_facts.c.id == row.id
            await tx.execute(update(past_facts).where(*is_meant).values(values))
    await move_to_current(tx, scope, revived, state)
    return staying


def _dated(draft: Draft, ended_at: float | None, now: datetime) -> Draft:
    """Return a draft with the date at which it brings a fact back, if it has none or one that is now."""
    said_at = draft.fact.said_at or draft.created_at or now
    is_tie = ended_at is not None and to_epoch_seconds(said_at) == ended_at
    if is_tie and (said_at == now or (draft.fact.key is not None and not draft.is_imported)):
        said_at = from_epoch_seconds(ended_at or 0.0) + _TIE
    if said_at == draft.fact.said_at or (ended_at is not None and to_epoch_seconds(said_at) <= ended_at):
        return draft
    return replace(draft, fact=replace(draft.fact, said_at=said_at))


def _is_said_since(draft: Draft, row: Row[Any], timeline: Timeline, now: datetime) -> bool:
    ended_at = timeline.last_ended_at(row.id)
    return ended_at is None or time_of(draft, now) > ended_at
