"""The part of the fact store that knows when facts begin to hold and what a change of the current ones is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, bindparam, exists, func, select, update
from typing_extensions import override

from gaia_memory.facts import tables
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.due_facts import is_due
from gaia_memory.facts.rows import scope_of, to_epoch_seconds
from gaia_memory.facts.scopes import bump_revisions, mark_dirty
from gaia_memory.facts.tables import endings, facts
from gaia_memory.ports import FactStore
from gaia_memory.ports.past_facts import PromptState

if TYPE_CHECKING:
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


class ValidityMixin(FactStore):
    """The part of the fact store that compares the validity of facts with the clock."""

    @override
    async def begin(self, tx: Transaction, *, now: datetime, limit: int) -> int:
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
                await self.settle_keys(tx, scope_of(row.app, row.user_id), [(row.id, "clock", None)], now=now)
        return len(rows)

    @override
    async def prompt_state(self, tx: Transaction, scope: Scope, *, now: datetime, due_until: datetime) -> PromptState:
        values: dict[str, Any] = {"its_partition": scope.partition, "its_now": to_epoch_seconds(now)}
        values["its_due_until"] = to_epoch_seconds(due_until)
        *turnover, has_facts, has_due = (await tx.execute(_PROMPT_STATE, values)).one()
        key = "/".join(str(each or 0) for each in turnover)
        return PromptState(profile_key=key, may_have_profile=bool(has_facts), has_due=bool(has_due))
