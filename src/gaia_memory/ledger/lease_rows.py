"""Who is at work on a conversation. Each step is one conditional statement: the database decides who wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, func, or_, select, update

from gaia_memory.database.id_encoding import encode_id, storable
from gaia_memory.ledger.out_of_order import drop_late
from gaia_memory.ledger.process_identity import those_gone
from gaia_memory.ledger.rows import is_at, is_over, ledger_row
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import LedgerRow, Mark, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_NO_LEASE: dict[str, Any] = {"lease_owner": None, "lease_until": None}
_NO_FAILURE: dict[str, Any] = {
    "attempts": 0,
    "bad_answers": 0,
    "failing_since": None,
    "retry_at": None,
    "last_error": None,
    "parked": False,
}


class Leases:
    """The part of the ledger that workers write."""

    async def claim(
        self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float, talker: str = ""
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while it is running or a turn is active, but the talker's own."""
        owners = (await tx.execute(select(c.c.lease_owner, c.c.active_owner).where(is_at(key)))).one_or_none()
        gone = await those_gone(owners or ())
        free = or_(is_over(c.c.lease_until, now), c.c.lease_owner.in_(gone))
        quiet = or_(is_over(c.c.active_until, now), c.c.active_owner.in_([*gone, *_named(talker)]))
        changes: dict[str, Any] = {
            "lease_owner": owner,
            "lease_until": now + lease_seconds,
            "claimed_turn_no": c.c.turn_no,
        }
        for name in ("active_until", "active_owner"):
            changes[name] = case((c.c.active_owner.in_(_named(talker)), c.c[name]), else_=None)
        if gone:
            # What one of them was clearing when it died is not being cleared any more.
            for name in ("clearing", "clearing_until"):
                changes[name] = case((c.c.clearing.in_(gone), None), else_=c.c[name])
        statement = update(c).where(is_at(key), free, quiet).values(changes).returning(c)
        row = (await tx.execute(statement)).one_or_none()
        return None if row is None else ledger_row(row)

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Prolong an own lease; False when it was lost."""
        return await _change(tx, key, c.c.lease_owner == owner, {"lease_until": now + lease_seconds})

    async def release(self, tx: Transaction, key: SessionKey, owner: str, *, done: bool = False) -> None:
        """Give an own lease back; with `done` nothing is left to do for the turns it was taken for."""
        await _change(tx, key, c.c.lease_owner == owner, _NO_LEASE | (_all_done() if done else {}))

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Give back all leases of an owner."""
        await tx.execute(update(c).where(c.c.lease_owner == owner).values(_NO_LEASE))

    async def advance(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        read: Mark | None,
        to: Mark,
        turns: int,
        now: float,
        is_all: bool = True,
    ) -> bool:
        """Move the watermark from `read` to `to` under an own lease; False when either is not as it was read."""
        unchanged = and_(
            c.c.lease_owner == owner,
            c.c.watermark_at.is_not_distinct_from(None if read is None else read.at),
            c.c.watermark_event.is_not_distinct_from(None if read is None else encode_id(read.event_id)),
        )
        changes: dict[str, Any] = {
            "watermark_at": to.at,
            "watermark_event": encode_id(to.event_id),
            "learned_turns": c.c.learned_turns + turns,
        }
        if is_all:
            changes["learned_turn_no"] = c.c.claimed_turn_no
        return await _change(tx, key, unchanged, changes | _NO_FAILURE)

    async def failed(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        error: str,
        now: float,
        retry_at: float,
        parked: bool = False,
        is_bad_answer: bool = False,
    ) -> None:
        """Count a failed attempt under an own lease and give the lease back."""
        changes: dict[str, Any] = {
            "attempts": c.c.attempts + 1,
            "bad_answers": c.c.bad_answers + int(is_bad_answer),
            "failing_since": func.coalesce(c.c.failing_since, now),
            "last_error": storable(error),
            "retry_at": retry_at,
            "parked": parked,
            # Some of it may have been learned before the failure; not all was.
            "learned_turn_no": c.c.done_turn_no,
        }
        await _change(tx, key, c.c.lease_owner == owner, _NO_LEASE | changes)

    async def begin_clearing(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        turn_no: int,
        now: float,
        seconds: float,
        talker: str = "",
    ) -> bool:
        """Set `clearing` in one statement: the lease is ours, the turn number as given, no turn but `talker`'s."""
        untouched = and_(
            c.c.lease_owner == owner,
            c.c.turn_no == turn_no,
            or_(is_over(c.c.active_until, now), c.c.active_owner.in_(_named(talker))),
            or_(is_over(c.c.clearing_until, now), c.c.clearing == owner),
        )
        return await _change(tx, key, untouched, {"clearing": owner, "clearing_until": now + seconds})

    async def end_clearing(
        self, tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None, rewound: bool = False
    ) -> None:
        """Unset `clearing`; with `cleared_at` the conversation begins anew (profile and anchor dropped)."""
        if cleared_at is not None:
            changes: dict[str, Any] = {"cleared_at": cleared_at, "profile": None, "profile_key": None}
            changes |= {"profile_made_at": None, "profile_made_by": None}
            changes |= {"anchor_turn_no": None, "anchor_at": None} | _NO_FAILURE | _all_done()
            changes["rewound_at"] = func.coalesce(c.c.rewound_at, cleared_at) if rewound else None
            if await _change(tx, key, or_(c.c.lease_owner == owner, c.c.clearing == owner), changes):
                await drop_late(tx, key)
        await _change(tx, key, c.c.clearing == owner, {"clearing": None, "clearing_until": None})


def _named(talker: str) -> list[str]:
    return [talker] if talker else []


def _all_done() -> dict[str, Any]:
    return {"learned_turn_no": c.c.claimed_turn_no, "done_turn_no": c.c.claimed_turn_no}


async def _change(tx: Transaction, key: SessionKey, condition: ColumnElement[bool], changes: dict[str, Any]) -> bool:
    return (await tx.execute(update(c).where(is_at(key), condition).values(changes))).rowcount == 1
