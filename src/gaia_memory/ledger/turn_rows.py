"""The marks of turns: one is running, one has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, or_, select, update

from gaia_memory.database.dialects import dialect_insert
from gaia_memory.ledger.process_identity import dead_owners
from gaia_memory.ledger.rows import (
    has_expired,
    is_unset_or_expired,
    new_row_values,
    to_ledger_row,
    where_session,
)
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import LedgerRow, SessionKey, TurnRequest

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class TurnMixin:
    """The part of the ledger that turns write."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active, unless the turn has to wait for a clear or another turn."""
        # A turn makes a parked conversation worth another try; one more failure parks it again.
        counted = {"turn_no": c.c.turn_no + 1, "touched": now, "parked": False, "retry_at": None}
        return await _upsert_turn(
            tx, key, request, now=now, lease_seconds=lease_seconds, insert_values={"turn_no": 1}, update_values=counted
        )

    async def reserve_turn(
        self, tx: Transaction, key: SessionKey, request: TurnRequest, *, now: float, lease_seconds: float
    ) -> LedgerRow:
        """Do the same as `begin_turn` without counting a turn, before a session is loaded."""
        return await _upsert_turn(
            tx, key, request, now=now, lease_seconds=lease_seconds, insert_values={}, update_values={}
        )

    async def release_turn(
        self, tx: Transaction, key: SessionKey, *, expires_at: float, owner: str = "", is_counted: bool = False
    ) -> None:
        """Remove the owner's mark that expires at `expires_at`, and with `is_counted` the turn it counted."""
        changes: dict[str, Any] = {"active_until": None, "active_owner": None}
        if is_counted:
            changes["turn_no"] = c.c.turn_no - 1
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
        end_values: dict[str, Any] = {
            name: case((_where_owner(owner), None), else_=c.c[name]) for name in ("active_until", "active_owner")
        }
        if is_private:
            is_waiting = c.c.learned_turn_no < c.c.turn_no
            end_values["learned_turn_no"] = c.c.learned_turn_no + case((is_waiting, 1), else_=0)
        await tx.execute(update(c).where(where_session(key)).values(end_values | {"touched": now}))


async def _upsert_turn(
    tx: Transaction,
    key: SessionKey,
    request: TurnRequest,
    *,
    now: float,
    lease_seconds: float,
    insert_values: dict[str, Any],
    update_values: dict[str, Any],
) -> LedgerRow:
    """Mark a conversation active unless the turn has to wait; return its row.

    `insert_values` are set on a new row in addition, `update_values` on an existing one.
    """
    mark: dict[str, Any] = {"active_until": now + lease_seconds, "active_owner": request.owner}
    mark |= {"clearing": None, "clearing_until": None} | ({"is_foreign": True} if request.is_foreign else {})
    conditions = [is_unset_or_expired(c.c.clearing_until, now)] if request.waits_for_clear else []
    if request.is_exclusive:
        conditions.append(await _where_no_other_owner(tx, key, request.owner, now=now))
    statement = dialect_insert(tx, c).values(new_row_values(key, touched=now) | mark | insert_values)
    statement = statement.on_conflict_do_update(
        index_elements=[c.c.conversation], set_=mark | update_values, where=and_(*conditions) if conditions else None
    )
    marked = (await tx.execute(statement.returning(c))).one_or_none()
    return to_ledger_row(marked or (await tx.execute(select(c).where(where_session(key)))).one())


async def _where_no_other_owner(tx: Transaction, key: SessionKey, owner: str, *, now: float) -> ColumnElement[bool]:
    """Match where no other live owner has a turn in a conversation."""
    others = select(c.c.active_owner).where(where_session(key), c.c.active_until > now, c.c.active_owner != owner)
    dead = await dead_owners((await tx.execute(others)).scalars())
    return or_(is_unset_or_expired(c.c.active_until, now), _where_owner(owner), c.c.active_owner.in_(dead))


def _where_owner(owner: str) -> ColumnElement[bool]:
    return or_(c.c.active_owner == owner, c.c.active_owner.is_(None))
