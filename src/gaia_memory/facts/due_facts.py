"""The facts that are due, and the record of which were announced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, false, or_, select, update

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts.current import current
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
from gaia_memory.models import Fact

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Clock, Transaction


def _is_open() -> ColumnElement[bool]:
    return or_(facts.c.every.is_not(None), facts.c.reminded_at.is_(None), facts.c.reminded_at < facts.c.due_at)


def is_due(until: BindParameter[float]) -> ColumnElement[bool]:
    """Return the condition that a fact is due by `until`, in seconds, and nobody was reminded of it."""
    return and_(facts.c.due_at <= until, _is_open())


_DUE = select(*FACT_COLUMNS).where(
    facts.c.partition == bindparam("its_partition"), is_due(bindparam("its_end")), current(bindparam("its_now"))
)
"""Built once, because every turn uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueFact:
    """A fact that was first due by now, with what is on record: the time announced last, and whether that was done."""

    fact: Fact
    version: int
    claimed_for: datetime | None = None
    is_announced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to announce a fact for the time `due_at` until `until`, and when to look at the fact next.

    Without an `owner`, nothing is announced and only the rest is put on record.
    """

    due_at: datetime
    next_at: datetime | None
    owner: str | None = None
    until: datetime | None = None


class DueFacts:
    """Finds facts by when they are due, and records what was announced."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that says which facts have expired or not begun."""
        self._clock = clock

    async def due(self, tx: Transaction, scope: Scope, *, until: datetime) -> list[Fact]:
        """Return the facts first due up to `until`, but for those without a recurrence that are done."""
        values = {
            "its_partition": scope.partition,
            "its_end": to_epoch_seconds(until),
            "its_now": to_epoch_seconds(self._clock.now()),
        }
        return [fact_of(row, scope) for row in await tx.execute(_DUE, values)]

    async def to_announce(
        self, tx: Transaction, *, apps: Collection[str], now: datetime, since: datetime, limit: int
    ) -> list[DueFact]:
        """Return facts that may have to be announced, of all users of these apps and of users without an app.

        They were first due between `since` and `now`, or earlier if they come back. Left out are those that are done,
        were announced and not changed since, or that a running claim is for.
        """
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

    async def claim_announcement(self, tx: Transaction, due: DueFact, claim: Claim, *, now: datetime) -> bool:
        """Put a claim on record; False if another one runs, it was announced, or the fact has changed meanwhile."""
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

    async def finish_announcement(
        self, tx: Transaction, fact: Fact, owner: str, *, announced_at: datetime | None, retry_at: datetime
    ) -> None:
        """Record that the claimed time was announced; with None, let anybody claim it again at `retry_at`."""
        is_meant = announcements.c.fact_id == fact.id, announcements.c.claim == owner
        values = {"announced_at": to_optional_seconds(announced_at), "claimed_until": to_epoch_seconds(retry_at)}
        await tx.execute(update(announcements).where(*is_meant).values(values))
