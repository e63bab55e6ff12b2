"""The marks of turns: one is running, one has ended.

Two of these statements run in each turn, so they are built once: building one takes longer than running it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, bindparam, case, or_, update

from gaia_memory.database.dialects import insert_for
from gaia_memory.ledger.process_identity import dead_owners
from gaia_memory.ledger.rows import (
    conversation_key,
    has_expired,
    is_unset_or_expired,
    load_row,
    new_row_values,
    to_ledger_row,
    where_session,
)
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import LedgerRow, SessionKey, TurnRequest

if TYPE_CHECKING:
    from sqlalchemy import Update
    from sqlalchemy.sql.dml import ReturningInsert

    from gaia_memory.ports import Transaction


_DEAD_OWNER, _CONVERSATION, _OWNER, _NOW = "dead_owner", "its_conversation", "its_owner", "its_now"
"""Parameters of the statements below; none has the name of a column."""

_MARKED_COLUMNS = (*new_row_values(SessionKey("", "", ""), touched=0.0), "active_until", "active_owner", "is_foreign")


class TurnMixin:
    """The part of the ledger that turns write."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active, unless the turn has to wait for a clear or another turn."""
        return await _mark_turn(tx, key, request, now=now, lease_seconds=lease_seconds, counts=True)

    async def reserve_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Do the same as `begin_turn` without counting a turn, before a session is loaded."""
        return await _mark_turn(tx, key, request, now=now, lease_seconds=lease_seconds, counts=False)

    async def release_turn(
        self, tx: Transaction, key: SessionKey, *, expires_at: float, owner: str = "", is_counted: bool = False
    ) -> None:
        """Remove the owner's mark that expires at `expires_at`, and with `is_counted` the turn it counted."""
        changes: dict[str, Any] = {"active_until": None, "active_owner": None}
        if is_counted:
            changes["turn_no"] = case((c.c.turn_no > 0, c.c.turn_no - 1), else_=0)
        reserved = update(c).where(where_session(key), c.c.active_until == expires_at, _where_owner(owner))
        await tx.execute(reserved.values(changes))

    async def renew_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, lease_seconds: float, owner: str = ""
    ) -> None:
        """Keep a long turn active, even after its mark expired, unless another owner has a turn now."""
        own = or_(_where_owner(owner), has_expired(c.c.active_until, now))
        mark = {"active_until": now + lease_seconds, "active_owner": owner}
        await tx.execute(update(c).where(where_session(key), own).values(mark))

    async def end_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, owner: str = "", is_private: bool = False
    ) -> None:
        """Mark the turn as ended at `now`; another owner's turn stays active. One that `is_private` does not wait."""
        values = {_CONVERSATION: conversation_key(key), _OWNER: owner, _NOW: now}
        await tx.execute(_end_statement(is_private), values)


async def _mark_turn(
    tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float, counts: bool
) -> LedgerRow:
    """Mark a conversation active unless the turn has to wait; return its row. Each statement may stand alone."""
    statement = _mark_statement(tx.dialect.name, counts, request.waits_for_clear, request.is_exclusive)
    values = new_row_values(key, touched=now) | {
        "turn_no": int(counts and not request.precedes_session),
        "active_until": now + lease_seconds,
        "active_owner": request.owner,
        "is_foreign": request.is_foreign,
    }
    marked = (await tx.execute(statement, values | {_DEAD_OWNER: request.owner})).one_or_none()
    if marked is not None:
        return to_ledger_row(marked)
    blocked = await load_row(tx, key)
    if request.is_exclusive and blocked is not None:
        # Nobody looks for dead owners before one is in the way: that reads the process table.
        for dead in await dead_owners([blocked.turn.active_owner]):
            marked = (await tx.execute(statement, values | {_DEAD_OWNER: dead})).one_or_none()
    if marked is not None:
        return to_ledger_row(marked)
    row = await load_row(tx, key)
    assert row is not None
    return row


@cache
def _mark_statement(dialect: str, counts: bool, waits_for_clear: bool, is_exclusive: bool) -> ReturningInsert[Any]:
    """Return the statement that marks a turn; its parameters are the columns of a new row, and `_DEAD_OWNER`."""
    statement = insert_for(dialect, c).values({name: bindparam(name) for name in _MARKED_COLUMNS})
    new = statement.excluded
    changes: dict[str, Any] = {
        "active_until": new.active_until,
        "active_owner": new.active_owner,
        "is_foreign": or_(c.c.is_foreign, new.is_foreign),
        "clearing": None,
        "clearing_until": None,
    }
    if counts:
        # A turn makes a parked conversation worth another try; one more failure parks it again.
        changes |= {"turn_no": c.c.turn_no + 1, "touched": new.touched, "parked": False, "retry_at": None}
    conditions = [is_unset_or_expired(c.c.clearing_until, new.touched)] if waits_for_clear else []
    if is_exclusive:
        is_own = or_(_where_owner(new.active_owner), c.c.active_owner == bindparam(_DEAD_OWNER))
        conditions.append(or_(is_unset_or_expired(c.c.active_until, new.touched), is_own))
    statement = statement.on_conflict_do_update(
        index_elements=[c.c.conversation], set_=changes, where=and_(*conditions) if conditions else None
    )
    return statement.returning(c)


@cache
def _end_statement(is_private: bool) -> Update:
    """Return the statement that ends a turn; its parameters are `_CONVERSATION`, `_OWNER` and `_NOW`."""
    is_own = _where_owner(bindparam(_OWNER))
    changes: dict[str, Any] = {name: case((is_own, None), else_=c.c[name]) for name in ("active_until", "active_owner")}
    if is_private:
        is_waiting = c.c.learned_turn_no < c.c.turn_no
        changes["learned_turn_no"] = c.c.learned_turn_no + case((is_waiting, 1), else_=0)
    return update(c).where(c.c.conversation == bindparam(_CONVERSATION)).values(changes | {"touched": bindparam(_NOW)})


def _where_owner(owner: str | ColumnElement[Any]) -> ColumnElement[bool]:
    return or_(c.c.active_owner == owner, c.c.active_owner.is_(None))
