"""The marks of turns: one is running, one has ended.

Two of these statements run in each turn, so they are built once: building one takes longer than running it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, bindparam, case, or_, update

from gaia_memory.database.metadata import insert_for
from gaia_memory.ledger.process_identity import dead_owners
from gaia_memory.ledger.rows import conversation_key, is_unset_or_expired, load_row, new_row_values, to_ledger_row
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.ledger.usage_log import note_usage, usage_parameters
from gaia_memory.models import LedgerRow, SessionKey, TurnRequest, TurnUsage

if TYPE_CHECKING:
    from sqlalchemy import Update
    from sqlalchemy.sql.dml import ReturningInsert

    from gaia_memory.ports import Transaction


_DEAD_OWNER, _CONVERSATION, _OWNER, _NOW = "dead_owner", "its_conversation", "its_owner", "its_now"
"""Parameters of the statements below; none has the name of a column."""

_MARKED_COLUMNS = (*new_row_values(SessionKey("", "", ""), touched=0.0), "active_until", "active_owner", "is_foreign")


async def mark_turn(
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


async def end_turn(
    tx: Transaction, key: SessionKey, *, now: float, owner: str, is_private: bool, used: TurnUsage | None
) -> None:
    """Mark a turn as ended, and note what it used; another owner's turn stays active."""
    await tx.execute(_end_statement(is_private), {_CONVERSATION: conversation_key(key), _OWNER: owner, _NOW: now})
    if used is not None:
        # After a statement that waits for whoever forgets the conversation, so that this one sees that.
        await tx.execute(note_usage(), usage_parameters(used, now=now))


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
        is_own = or_(where_owner(new.active_owner), c.c.active_owner == bindparam(_DEAD_OWNER))
        conditions.append(or_(is_unset_or_expired(c.c.active_until, new.touched), is_own))
    statement = statement.on_conflict_do_update(
        index_elements=[c.c.conversation], set_=changes, where=and_(*conditions) if conditions else None
    )
    return statement.returning(c)


@cache
def _end_statement(is_private: bool) -> Update:
    """Return the statement that ends a turn; its parameters are `_CONVERSATION`, `_OWNER` and `_NOW`."""
    is_own = where_owner(bindparam(_OWNER))
    changes: dict[str, Any] = {name: case((is_own, None), else_=c.c[name]) for name in ("active_until", "active_owner")}
    if is_private:
        is_waiting = c.c.learned_turn_no < c.c.turn_no
        changes["learned_turn_no"] = c.c.learned_turn_no + case((is_waiting, 1), else_=0)
    return update(c).where(c.c.conversation == bindparam(_CONVERSATION)).values(changes | {"touched": bindparam(_NOW)})


def where_owner(owner: str | ColumnElement[Any]) -> ColumnElement[bool]:
    """Match where the turn that runs is of an owner, or none runs."""
    return or_(c.c.active_owner == owner, c.c.active_owner.is_(None))
