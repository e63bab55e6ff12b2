"""The validity of facts: which have expired or begun to hold, and what prompts depend on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, bindparam, exists, func, select, update

from gaia_memory.facts import tables
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.due_facts import is_due
from gaia_memory.facts.history.timeline import load_timeline
from gaia_memory.facts.rows import from_epoch_seconds, scope_of, to_epoch_seconds
from gaia_memory.facts.scopes import bump_revisions, mark_dirty
from gaia_memory.facts.tables import endings, facts
from gaia_memory.models import FactEnd

if TYPE_CHECKING:
    from gaia_memory.facts.history.fact_history import FactHistory
    from gaia_memory.facts.reconciling.keyed_facts import KeyedFacts
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction


_PARTITION: BindParameter[str] = bindparam("its_partition")
_NOW: BindParameter[float] = bindparam("its_now")
_IN_SCOPE = facts.c.partition.concat("") == _PARTITION
_PROMPT_STATE = select(
    select(func.max(endings.c.row)).where(endings.c.partition == _PARTITION).scalar_subquery(),
    select(func.count()).where(facts.c.valid_until <= _NOW, _IN_SCOPE, current_or_past()).scalar_subquery(),
    select(func.count()).where(facts.c.valid_from > _NOW, _IN_SCOPE, current_or_past()).scalar_subquery(),
    exists().where(facts.c.partition == _PARTITION, current(_NOW)),
    exists().where(facts.c.partition == _PARTITION, is_due(bindparam("its_due_until")), current(_NOW)),
)
"""Built once, because every turn uses it."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """What the prompts of a person depend on.

    `profile_key` differs once a current fact has ended, expired or begun to hold; facts that are added, and those that
    are said again, leave it as it is. `may_have_profile` is whether there is a current fact, `has_due` whether one
    is due by then.
    """

    profile_key: str
    may_have_profile: bool
    has_due: bool


class Validity:
    """Compares the validity of facts with the clock."""

    def __init__(self, history: FactHistory, keys: KeyedFacts) -> None:
        """Take the history that expired facts go to, and the keys that those which begin to hold settle."""
        self._history, self._keys = history, keys

    async def expire(self, tx: Transaction, *, now: datetime, limit: int) -> int:
        """End at most `limit` facts of any scope whose validity is over; return how many."""
        table = tables.scopes
        columns = facts.c.id, facts.c.version, facts.c.valid_until, table.c.app, table.c.user_id
        is_expired = facts.c.valid_until.is_not(None) & (facts.c.valid_until <= to_epoch_seconds(now))
        joined = table.c.partition == facts.c.partition
        statement = select(*columns).join(table, joined).where(is_expired, current_or_past()).limit(limit)
        rows = (await tx.execute(statement)).all()
        expired: dict[Scope, list[Any]] = {}
        for row in rows:
            expired.setdefault(scope_of(row.app, row.user_id), []).append(row)
        for scope, of_scope in sorted(expired.items(), key=lambda item: item[0].partition):
            timeline = await load_timeline(tx, scope, [row.id for row in of_scope])
            # What was said when it was over already ends when it was said: nothing can end before.
            found = [
                FactEnd(
                    fact_id=row.id,
                    ended_at=from_epoch_seconds(max(row.valid_until, timeline.last_said_at(row.id) or row.valid_until)),
                    why="expired",
                    actor="clock",
                    version=row.version,
                )
                for row in of_scope
            ]
            await self._history.end_facts(tx, scope, found, now=now)
        return len(rows)

    async def begin(self, tx: Transaction, *, now: datetime, limit: int) -> int:
        """Put at most `limit` facts of any scope into the outbox that have begun to hold; return how many."""
        since_epoch = to_epoch_seconds(now)
        # One that was written after its beginning went into the outbox with that write.
        is_begun = (facts.c.valid_from <= since_epoch) & (facts.c.updated_at < facts.c.valid_from)
        table = tables.scopes
        columns = facts.c.row, facts.c.id, facts.c.version, facts.c.partition, table.c.app, table.c.user_id
        joined = table.c.partition == facts.c.partition
        statement = select(*columns).join(table, joined).where(is_begun, current_or_past()).limit(limit)
        rows = (await tx.execute(statement)).all()
        if rows:
            await bump_revisions(tx, sorted({row.partition for row in rows}))
            has_row = facts.c.row.in_([row.row for row in rows])
            await tx.execute(update(facts).where(has_row).values(updated_at=since_epoch))
            for row in sorted(rows, key=lambda row: str(row.id)):
                await mark_dirty(tx, [row.id], row.version)
            for row in rows:
                await self._keys.settle_keys(tx, scope_of(row.app, row.user_id), [(row.id, "clock", None)], now=now)
        return len(rows)

    async def prompt_state(self, tx: Transaction, scope: Scope, *, now: datetime, due_until: datetime) -> PromptState:
        """Return what the prompts about a scope depend on; one statement."""
        values: dict[str, Any] = {"its_partition": scope.partition, "its_now": to_epoch_seconds(now)}
        values["its_due_until"] = to_epoch_seconds(due_until)
        *turnover, has_facts, has_due = (await tx.execute(_PROMPT_STATE, values)).one()
        key = "/".join(str(each or 0) for each in turnover)
        return PromptState(profile_key=key, may_have_profile=bool(has_facts), has_due=bool(has_due))
