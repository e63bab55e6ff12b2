"""What there is to do. Each search reads an index that holds little else, however many conversations are known."""

from __future__ import annotations

from collections.abc import Collection
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from gaia_memory.database.id_encoding import bounded, encode_id
from gaia_memory.ledger.rows import Condition, handle, key_of, ledger_row, pending, values_of
from gaia_memory.ledger.tables import AT_REST, FREE, REWOUND, UNDONE
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import Due, LedgerRow, Pending, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_KEY = (c.c.app, c.c.user_id, c.c.session_id)


class Search:
    """The part of the ledger that finds conversations."""

    async def due(
        self,
        tx: Transaction,
        *,
        now: float,
        quiet_since: float | None,
        limit: int,
        apps: Collection[str],
        after: Due | None = None,
        without_persons: Collection[str] = (),
    ) -> list[Due]:
        """Return conversations of `apps` with something to learn or to clear, oldest first."""
        conditions: list[Condition] = [AT_REST] if quiet_since is None else [FREE, c.c.touched <= quiet_since]
        if without_persons:
            conditions.append(c.c.person.not_in([bounded(person) for person in without_persons]))
        statement = select(*_KEY, c.c.touched).where(*conditions).order_by(c.c.touched, c.c.conversation).limit(limit)
        # One search an app: an index gives the rows of one app in their order, and of several it does not.
        found = []
        for app_key in sorted({bounded(app) for app in apps}):
            of_app = statement.where(c.c.app_key == app_key, *_later_than(after, app_key))
            found.append((await tx.execute(of_app)).all())
        oldest = islice(merge(*found, key=lambda row: row.touched), limit)
        return [Due(key=key_of(row), touched=row.touched) for row in oldest]

    async def waiting_elsewhere(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one waiting conversation, the latest, of each app that is not among `apps`."""
        known = {bounded(app) for app in apps}
        found = []
        for app_key in await values_of(tx, c.c.app_key, AT_REST):
            if app_key not in known:
                statement = select(*_KEY).where(AT_REST, c.c.app_key == app_key).order_by(c.c.touched.desc()).limit(1)
                found.append(key_of((await tx.execute(statement)).one()))
        return found

    async def known_elsewhere(self, tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
        """Return one conversation of each app that is not among `apps`."""
        elsewhere = c.c.app_key.not_in([bounded(app) for app in apps])
        firsts = select(func.min(c.c.conversation)).where(elsewhere).group_by(c.c.app_key)
        return [key_of(row) for row in await tx.execute(select(*_KEY).where(c.c.conversation.in_(firsts)))]

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[Pending]:
        """Return conversations with something unlearned, oldest first."""
        # What is unlearned is undone; that is said because only so its index is used.
        statement = select(c).where(UNDONE, c.c.turn_no > c.c.learned_turn_no).order_by(c.c.touched, c.c.conversation)
        if user is not None:
            statement = statement.where(c.c.person == bounded(user))
        if app is not None:
            statement = statement.where(c.c.app_key == bounded(app))
        return [pending(row) for row in await tx.execute(statement)]

    async def to_purge(self, tx: Transaction, *, before: float, limit: int, apps: Collection[str]) -> list[LedgerRow]:
        """Return conversations in which nothing is left to do, and whose rewound talk was cleared until `before`."""
        statement = (
            select(c)
            .where(
                REWOUND,
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
        return [ledger_row(row) for row in await tx.execute(statement)]


def _later_than(after: Due | None, app_key: str) -> list[ColumnElement[bool]]:
    """Match what comes after a place: of what was touched at one moment, the apps come one after the other."""
    if after is None:
        return []
    own = bounded(after.key.app)
    if app_key == own:
        return [tuple_(c.c.touched, c.c.conversation) > tuple_(literal(after.touched), literal(handle(after.key)))]
    return [c.c.touched > after.touched if app_key < own else c.c.touched >= after.touched]
