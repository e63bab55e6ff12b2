"""The marks of turns: somebody is talking, somebody has talked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, or_, select, update

from gaia_memory.ledger.out_of_order import may_be_late, note_late
from gaia_memory.ledger.process_identity import those_gone
from gaia_memory.ledger.rows import fresh, has_ended, insert, is_at, is_over, ledger_row
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import LedgerRow, SessionKey, Talker

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class Turns:
    """The part of the ledger that turns write."""

    async def begin_turn(
        self, tx: Transaction, key: SessionKey, who: Talker, *, now: float, active_seconds: float
    ) -> LedgerRow:
        """Count a turn and mark the conversation active, unless it has to wait for a clear or another's turn."""
        # A turn makes a parked conversation worth another try; one more failure parks it again.
        counted = {"turn_no": c.c.turn_no + 1, "touched": now, "parked": False, "retry_at": None}
        row = await _mark(tx, key, who, now=now, active_seconds=active_seconds, new={"turn_no": 1}, known=counted)
        is_begun = row.clearing is None and row.active_owner == who.owner
        if is_begun and who.invocation is not None and may_be_late(row, who.invocation, now=now):
            await note_late(tx, key, who.invocation)
        return row

    async def hold(
        self, tx: Transaction, key: SessionKey, who: Talker, *, now: float, active_seconds: float
    ) -> LedgerRow:
        """Do as `begin_turn` without counting: the conversation is about to be loaded for a turn."""
        return await _mark(tx, key, who, now=now, active_seconds=active_seconds, new={}, known={})

    async def let_go(self, tx: Transaction, key: SessionKey, *, until: float, owner: str = "") -> None:
        """Take back an own hold, which ends at `until`, unless somebody has begun to talk since."""
        held = update(c).where(is_at(key), c.c.active_until == until, _is_own(owner))
        await tx.execute(held.values(active_until=None, active_owner=None))

    async def renew_turn(
        self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float, owner: str = ""
    ) -> None:
        """Keep a long turn active, also one that was given up meanwhile, unless another owner talks now."""
        own = or_(_is_own(owner), has_ended(c.c.active_until, now))
        mark = {"active_until": now + active_seconds, "active_owner": owner}
        await tx.execute(update(c).where(is_at(key), own).values(mark))

    async def end_turn(self, tx: Transaction, key: SessionKey, *, now: float, owner: str = "") -> None:
        """Mark the conversation quiet since `now`; another owner who talks in it goes on."""
        over = {name: case((_is_own(owner), None), else_=c.c[name]) for name in ("active_until", "active_owner")}
        await tx.execute(update(c).where(is_at(key)).values(over | {"touched": now}))


async def _mark(
    tx: Transaction,
    key: SessionKey,
    who: Talker,
    *,
    now: float,
    active_seconds: float,
    new: dict[str, Any],
    known: dict[str, Any],
) -> LedgerRow:
    """Mark a conversation active unless its talker has to wait, with more for a `new` or a `known` one; return it."""
    mark: dict[str, Any] = {"active_until": now + active_seconds, "active_owner": who.owner}
    mark |= {"clearing": None, "clearing_until": None} | ({"is_foreign": True} if who.is_foreign else {})
    conditions = [is_over(c.c.clearing_until, now)] if who.waits else []
    if who.alone:
        conditions.append(await _is_free(tx, key, who.owner, now=now))
    statement = insert(tx, c).values(fresh(key, touched=now) | mark | new)
    statement = statement.on_conflict_do_update(
        index_elements=[c.c.conversation], set_=mark | known, where=and_(*conditions) if conditions else None
    )
    marked = (await tx.execute(statement.returning(c))).one_or_none()
    return ledger_row(marked or (await tx.execute(select(c).where(is_at(key)))).one())


async def _is_free(tx: Transaction, key: SessionKey, owner: str, *, now: float) -> ColumnElement[bool]:
    """Match where nobody else talks in a conversation; who is gone does not."""
    others = select(c.c.active_owner).where(is_at(key), c.c.active_until > now, c.c.active_owner != owner)
    gone = await those_gone((await tx.execute(others)).scalars())
    return or_(is_over(c.c.active_until, now), _is_own(owner), c.c.active_owner.in_(gone))


def _is_own(owner: str) -> ColumnElement[bool]:
    return or_(c.c.active_owner == owner, c.c.active_owner.is_(None))
