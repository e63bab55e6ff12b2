"""Finds the conversations with work to do. Each query reads a partial index with little else in it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select, tuple_

from gaia_memory.database.id_encoding import decode_id, encode_id, index_key
from gaia_memory.ledger.rows import (
    SqlCondition,
    conversation_key,
    distinct_values,
    session_key,
    to_ledger_row,
    to_pending,
)
from gaia_memory.ledger.tables import HAS_REQUESTS, IS_REWOUND, IS_SWEEPABLE, IS_UNCLAIMED, IS_UNDONE
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import DueConversation, LedgerRow, PendingConversation, PersonSummary, Scope, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_KEY_COLUMNS = (c.c.app, c.c.user_id, c.c.session_id)


class ConversationQueryMixin:
    """The part of the ledger that finds conversations."""

    async def due(
        self,
        tx: Transaction,
        *,
        quiet_since: float | None,
        limit: int,
        apps: Collection[str],
        after: DueConversation | None = None,
        excluded_users: Collection[str] = (),
    ) -> list[DueConversation]:
        """Return conversations of `apps` with something to learn or to clear, oldest first."""
        conditions: list[SqlCondition] = (
            [IS_UNCLAIMED] if quiet_since is None else [IS_SWEEPABLE, c.c.touched <= quiet_since]
        )
        if excluded_users:
            conditions.append(c.c.person.not_in([index_key(person) for person in excluded_users]))
        statement = (
            select(*_KEY_COLUMNS, c.c.touched).where(*conditions).order_by(c.c.touched, c.c.conversation).limit(limit)
        )
        # One query per app: the index returns the rows of one app in order, but not those of several.
        rows_by_app = []
        for app_key in sorted({index_key(app) for app in apps}):
            of_app = statement.where(c.c.app_key == app_key, *_after_cursor(after, app_key))
            rows_by_app.append((await tx.execute(of_app)).all())
        oldest = islice(merge(*rows_by_app, key=lambda row: row.touched), limit)
        return [DueConversation(key=session_key(row), touched=row.touched) for row in oldest]

    async def requested(self, tx: Transaction, *, apps: Collection[str], force: bool) -> list[SessionKey]:
        """Return conversations of `apps` whose requests can be learned now."""
        conditions: list[SqlCondition] = [HAS_REQUESTS, c.c.active_until.is_(None), c.c.lease_until.is_(None)]
        conditions += [] if force else [c.c.retry_at.is_(None), ~c.c.parked]
        statement = select(*_KEY_COLUMNS).where(*conditions, c.c.app_key.in_([index_key(app) for app in apps]))
        return [session_key(row) for row in await tx.execute(statement)]

    async def sessions_waiting_in_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one waiting conversation, the latest, of each app that is not among `apps`."""
        known = {index_key(app) for app in apps}
        found = []
        for app_key in await distinct_values(tx, c.c.app_key, IS_UNCLAIMED):
            if app_key not in known:
                statement = (
                    select(*_KEY_COLUMNS)
                    .where(IS_UNCLAIMED, c.c.app_key == app_key)
                    .order_by(c.c.touched.desc())
                    .limit(1)
                )
                found.append(session_key((await tx.execute(statement)).one()))
        return found

    async def sessions_of_other_apps(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation of each app that is not among `apps`."""
        elsewhere = c.c.app_key.not_in([index_key(app) for app in apps])
        firsts = select(func.min(c.c.conversation)).where(elsewhere).group_by(c.c.app_key)
        return [session_key(row) for row in await tx.execute(select(*_KEY_COLUMNS).where(c.c.conversation.in_(firsts)))]

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[PendingConversation]:
        """Return conversations with something unlearned and those that failed, oldest first."""
        statement = select(c).where(IS_UNDONE, _is_pending()).order_by(c.c.touched, c.c.conversation)
        if user is not None:
            statement = statement.where(c.c.person == index_key(user))
        if app is not None:
            statement = statement.where(c.c.app_key == index_key(app))
        return [to_pending(row) for row in await tx.execute(statement)]

    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        """Return everybody with a conversation, in each app: how many are pending, and the time of the last turn."""
        pending = func.sum(case((and_(IS_UNDONE, _is_pending()), 1), else_=0))
        statement = select(
            c.c.app, c.c.user_id, pending.label("pending"), func.max(c.c.touched).label("touched")
        ).group_by(c.c.app, c.c.user_id)
        return [
            PersonSummary(
                scope=Scope(decode_id(row.app), decode_id(row.user_id)),
                pending=row.pending,
                # A row that only a forget made has no message.
                last_message_at=datetime.fromtimestamp(row.touched, UTC) if row.touched else None,
            )
            for row in await tx.execute(statement)
        ]

    async def find_purgeable(
        self, tx: Transaction, *, before: float, limit: int, apps: Collection[str]
    ) -> list[LedgerRow]:
        """Return conversations that a setting had rewound at or before `before` and that have nothing left to do."""
        statement = (
            select(c)
            .where(
                IS_REWOUND,
                c.c.is_purgeable,
                c.c.cleared_at <= before,
                c.c.touched <= before,
                c.c.app.in_([encode_id(app) for app in apps]),
                c.c.turn_no <= c.c.done_turn_no,
                c.c.active_until.is_(None),
                c.c.lease_until.is_(None),
            )
            .order_by(c.c.cleared_at)
            .limit(limit)
        )
        return [to_ledger_row(row) for row in await tx.execute(statement)]


def _is_pending() -> ColumnElement[bool]:
    """Match, among conversations with work to do, those with something unlearned or a failure to report."""
    return or_(c.c.turn_no > c.c.learned_turn_no, c.c.attempts > 0)


def _after_cursor(after: DueConversation | None, app_key: str) -> list[ColumnElement[bool]]:
    """Match rows after a cursor; rows touched at the same moment are ordered by app."""
    if after is None:
        return []
    cursor_app_key = index_key(after.key.app)
    if app_key == cursor_app_key:
        return [
            tuple_(c.c.touched, c.c.conversation) > tuple_(literal(after.touched), literal(conversation_key(after.key)))
        ]
    return [c.c.touched > after.touched if app_key < cursor_app_key else c.c.touched >= after.touched]
