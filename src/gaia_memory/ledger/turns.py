"""The marks of turns: somebody is talking, somebody has talked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from gaia_memory.ledger.rows import fresh, insert, is_at, is_over, ledger_row
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import LedgerRow, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


async def begin(
    tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, counted: bool, waits: bool = True
) -> LedgerRow:
    """Mark a conversation active, and count a turn in it; with `waits` not while somebody clears it; return its row."""
    values = {"active_until": now + active_seconds, "clearing": None, "clearing_until": None}
    row = fresh(key, touched=now) | values | ({"turn_no": 1} if counted else {})
    changes = values | (
        # A turn makes a parked conversation worth another try; one more failure parks it again.
        {"turn_no": conversations.c.turn_no + 1, "touched": now, "parked": False, "retry_at": None} if counted else {}
    )
    statement = insert(tx, conversations).values(row)
    statement = statement.on_conflict_do_update(
        index_elements=[conversations.c.conversation],
        set_=changes,
        where=is_over(conversations.c.clearing_until, now) if waits else None,
    )
    begun = (await tx.execute(statement.returning(conversations))).one_or_none()
    if begun is None:
        begun = (await tx.execute(select(conversations).where(is_at(key)))).one()
    return ledger_row(begun)


async def renew(tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> None:
    """Keep a long turn active."""
    await tx.execute(update(conversations).where(is_at(key)).values(active_until=now + active_seconds))


async def let_go(tx: Transaction, key: SessionKey, *, until: float) -> None:
    """Take back a hold, which ends at `until`, unless somebody has begun to talk since."""
    held = update(conversations).where(is_at(key), conversations.c.active_until == until)
    await tx.execute(held.values(active_until=None))


async def end(tx: Transaction, key: SessionKey, *, now: float) -> None:
    """Mark a conversation quiet since `now`."""
    await tx.execute(update(conversations).where(is_at(key)).values(active_until=None, touched=now))
