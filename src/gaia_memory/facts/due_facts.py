"""The part of the fact store that finds facts by when they are due, and records what was announced."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, false, or_, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts.current import ClockedFactStore, current
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    fact_of,
    from_epoch_seconds,
    scope_of,
    to_epoch_seconds,
    to_optional_seconds,
)
from gaia_memory.facts.scopes import dialect_insert, ensure_scope
from gaia_memory.facts.tables import announcements, facts, scopes
from gaia_memory.ports.due_store import Claim, DueFact

if TYPE_CHECKING:
    from gaia_memory.models import Fact, Scope
    from gaia_memory.ports import Transaction


def _is_open() -> ColumnElement[bool]:
    return or_(facts.c.every.is_not(None), facts.c.reminded_at.is_(None), facts.c.reminded_at < facts.c.due_at)


def is_due(until: BindParameter[float]) -> ColumnElement[bool]:
    """Return the condition that a fact is due by `until`, in seconds, and nobody was reminded of it."""
    return and_(facts.c.due_at <= until, _is_open())


_DUE = select(*FACT_COLUMNS).where(
    facts.c.partition == bindparam("its_partition"), is_due(bindparam("its_end")), current(bindparam("its_now"))
)
"""Built once, because every turn uses it."""


class DueFactsMixin(ClockedFactStore):
    """The part of the fact store that knows what is due."""

    @override
    async def due(self, tx: Transaction, scope: Scope, *, until: datetime) -> list[Fact]:
        values = {"its_partition": scope.partition, "its_end": to_epoch_seconds(until), "its_now": self._now()}
        return [fact_of(row, scope) for row in await tx.execute(_DUE, values)]

    @override
    async def to_announce(
        self, tx: Transaction, *, apps: Collection[str], now: datetime, since: datetime, limit: int
    ) -> list[DueFact]:
        its, seconds = announcements.c, to_epoch_seconds(now)
        is_unfinished = its.announced_at.is_(None) & (its.claimed_until <= seconds)
        columns = its.due_at.label("claimed_for"), its.announced_at, facts.c.version, scopes.c.app, scopes.c.user_id
        statement: Select[Any] = (
            select(*FACT_COLUMNS, *columns)
            .join(scopes, scopes.c.partition == facts.c.partition)
            .outerjoin(announcements, its.fact_id == facts.c.id)
            .where(facts.c.due_at <= seconds, _is_open(), current(to_epoch_seconds(now)))
            .where(or_(facts.c.due_at >= to_epoch_seconds(since), facts.c.every.is_not(None)))
            .where(or_(its.fact_id.is_(None), its.version != facts.c.version, its.next_at <= seconds, is_unfinished))
            .where(or_(scopes.c.app.is_(None), scopes.c.app.in_([encode_id(app) for app in apps])))
            .order_by(facts.c.due_at, facts.c.row)
            .limit(limit)
        )
        return [
            DueFact(
                fact=fact_of(row, scope_of(row.app, row.user_id)),
                version=row.version,
                claimed_for=None if row.claimed_for is None else from_epoch_seconds(row.claimed_for),
                is_announced=row.announced_at is not None,
            )
            for row in await tx.execute(statement)
        ]

    @override
    async def claim_announcement(self, tx: Transaction, due: DueFact, claim: Claim, *, now: datetime) -> bool:
        fact, its = due.fact, announcements.c
        # Locks the scope, so that the fact is not forgotten meanwhile.
        await ensure_scope(tx, fact.scope)
        is_meant = facts.c.partition == fact.scope.partition, facts.c.id == fact.id, facts.c.version == due.version
        if (await tx.execute(select(facts.c.id).where(*is_meant, current(to_epoch_seconds(now))))).first() is None:
            return False
        values: dict[str, Any] = {"due_at": to_epoch_seconds(claim.due_at), "version": due.version}
        values["next_at"] = to_optional_seconds(claim.next_at)
        if claim.owner is None:
            # Only while the record is what was read: a claim of another process counts more.
            known = to_optional_seconds(due.claimed_for)
            condition = false() if known is None else its.due_at == known
        else:
            values |= {"claim": claim.owner, "claimed_until": to_optional_seconds(claim.until), "announced_at": None}
            is_over = or_(its.claimed_until.is_(None), its.claimed_until <= to_epoch_seconds(now))
            condition = or_(its.due_at < values["due_at"], its.announced_at.is_(None) & is_over)
        row = dialect_insert(tx, announcements).values(fact_id=fact.id, partition=fact.scope.partition, **values)
        statement = row.on_conflict_do_update(index_elements=[its.fact_id], set_=values, where=condition)
        return (await tx.execute(statement)).rowcount == 1

    @override
    async def finish_announcement(
        self, tx: Transaction, fact: Fact, owner: str, *, announced_at: datetime | None, retry_at: datetime
    ) -> None:
        is_meant = announcements.c.fact_id == fact.id, announcements.c.claim == owner
        values = {"announced_at": to_optional_seconds(announced_at), "claimed_until": to_epoch_seconds(retry_at)}
        await tx.execute(update(announcements).where(*is_meant).values(values))
