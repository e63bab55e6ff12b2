"""Leases on conversations, and their expiry.

Each step is one conditional statement: the database decides which process wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, ColumnElement, TextClause, and_, case, func, or_, select, update

from gaia_memory.database.id_encoding import encode_id, replace_unstorable
from gaia_memory.ledger.process_identity import dead_owners, engine_name, upper_bound
from gaia_memory.ledger.rows import (
    SqlCondition,
    distinct_values,
    has_expired,
    is_unset_or_expired,
    to_ledger_row,
    where_session,
)
from gaia_memory.ledger.tables import HAS_ACTIVE_TURN, HAS_BACKOFF, HAS_LEASE, IS_UNCLAIMED
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import EventPosition, LedgerRow, SessionKey
from gaia_memory.ports.ledger import MAX_CLOCK_SKEW_SECONDS

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


_PROFILE = ("profile", "profile_key", "profile_made_at", "profile_made_by")


class LeaseMixin:
    """The part of the ledger that consolidation writes."""

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Remove expired marks and those of dead processes."""
        await _expire_leases(tx, HAS_ACTIVE_TURN, c.c.active_owner, c.c.active_until, now)
        await _expire_leases(tx, HAS_LEASE, c.c.lease_owner, c.c.lease_until, now)
        await _update_unlocked(tx, [HAS_BACKOFF, has_expired(c.c.retry_at, now)], {"retry_at": None})
        for app_key in await distinct_values(tx, c.c.app_key, IS_UNCLAIMED):
            is_in_future = c.c.touched > now + MAX_CLOCK_SKEW_SECONDS
            await _update_unlocked(tx, [IS_UNCLAIMED, c.c.app_key == app_key, is_in_future], {"touched": now})

    async def claim(
        self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float, turn_owner: str = ""
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while one is in force, or another turn than `turn_owner`'s runs."""
        owners = (await tx.execute(select(c.c.lease_owner, c.c.active_owner).where(where_session(key)))).one_or_none()
        dead = await dead_owners(owners or ())
        is_lease_free = or_(is_unset_or_expired(c.c.lease_until, now), c.c.lease_owner.in_(dead))
        is_quiet = or_(
            is_unset_or_expired(c.c.active_until, now), c.c.active_owner.in_([*dead, *_owner_list(turn_owner)])
        )
        changes: dict[str, Any] = {
            "lease_owner": owner,
            "lease_until": now + lease_seconds,
            "claimed_turn_no": c.c.turn_no,
        }
        for name in ("active_until", "active_owner"):
            changes[name] = case((c.c.active_owner.in_(_owner_list(turn_owner)), c.c[name]), else_=None)
        if dead:
            # A clear ends with the process that ran it.
            for name in ("clearing", "clearing_until"):
                changes[name] = case((c.c.clearing.in_(dead), None), else_=c.c[name])
        statement = update(c).where(where_session(key), is_lease_free, is_quiet).values(changes).returning(c)
        row = (await tx.execute(statement)).one_or_none()
        return None if row is None else to_ledger_row(row)

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Renew the owner's lease; False when it was lost."""
        return await _update_row(tx, key, c.c.lease_owner == owner, {"lease_until": now + lease_seconds})

    async def release(
        self, tx: Transaction, key: SessionKey, owner: str, *, is_done: bool = False, reset_at: float | None = None
    ) -> None:
        """Release the owner's lease; with `is_done` the turns it was taken for need no further work."""
        changes = dict(_NO_LEASE)
        if is_done:
            has_new_turn = c.c.turn_no > c.c.claimed_turn_no
            changes |= _done_values() | {name: case((has_new_turn, c.c[name]), else_=None) for name in _PROFILE}
        if reset_at is not None:
            changes["reset_at"] = reset_at
        await _update_row(tx, key, c.c.lease_owner == owner, changes)

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Release all leases of an owner."""
        await tx.execute(update(c).where(c.c.lease_owner == owner).values(_NO_LEASE))

    async def advance_watermark(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        expected: EventPosition | None,
        new_watermark: EventPosition,
        turn_count: int,
        is_complete: bool = True,
    ) -> bool:
        """Move the watermark from `expected` to `new_watermark` under the owner's lease; False if either changed."""
        is_unchanged = and_(
            c.c.lease_owner == owner,
            c.c.watermark_at.is_not_distinct_from(None if expected is None else expected.timestamp),
            c.c.watermark_event.is_not_distinct_from(None if expected is None else encode_id(expected.event_id)),
        )
        changes: dict[str, Any] = {
            "watermark_at": new_watermark.timestamp,
            "watermark_event": encode_id(new_watermark.event_id),
            "learned_turns": c.c.learned_turns + turn_count,
        }
        # The ledger does not count every turn of a transcript: what is left must not seem learned.
        learned_turn_no = c.c.learned_turn_no + turn_count
        is_left = learned_turn_no < c.c.claimed_turn_no
        changes["learned_turn_no"] = (
            c.c.claimed_turn_no if is_complete else case((is_left, learned_turn_no), else_=c.c.learned_turn_no)
        )
        return await _update_row(tx, key, is_unchanged, changes | _NO_FAILURE)

    async def record_failure(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        error: str,
        now: float,
        retry_at: float,
        is_parked: bool = False,
        is_bad_answer: bool = False,
    ) -> None:
        """Count a failed attempt under the owner's lease and release the lease."""
        changes: dict[str, Any] = {
            "attempts": c.c.attempts + 1,
            "bad_answers": c.c.bad_answers + int(is_bad_answer),
            "failing_since": func.coalesce(c.c.failing_since, now),
            "last_error": replace_unstorable(error),
            "retry_at": retry_at,
            "parked": is_parked,
        }
        await _update_row(tx, key, c.c.lease_owner == owner, _NO_LEASE | changes)

    async def begin_clearing(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        turn_no: int,
        now: float,
        seconds: float,
        turn_owner: str = "",
    ) -> bool:
        """Start clearing in one statement, unless the lease, the turn number or the active turn changed."""
        is_unchanged = and_(
            c.c.lease_owner == owner,
            c.c.turn_no == turn_no,
            or_(is_unset_or_expired(c.c.active_until, now), c.c.active_owner.in_(_owner_list(turn_owner))),
            or_(is_unset_or_expired(c.c.clearing_until, now), c.c.clearing == owner),
        )
        return await _update_row(tx, key, is_unchanged, {"clearing": owner, "clearing_until": now + seconds})

    async def end_clearing(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        cleared_at: float | None,
        is_rewound: bool = False,
        is_deleted: bool = False,
    ) -> None:
        """End clearing; with `cleared_at` the conversation starts from scratch, without profile and anchor."""
        if cleared_at is not None:
            changes: dict[str, Any] = {"cleared_at": cleared_at, "is_purgeable": is_rewound} | dict.fromkeys(_PROFILE)
            changes |= {"anchor_turn_no": None, "anchor_at": None} | _NO_FAILURE | _done_values()
            changes["rewound_at"] = func.coalesce(c.c.rewound_at, cleared_at) if is_rewound else None
            if is_deleted:
                has_new_turn = or_(c.c.turn_no > c.c.claimed_turn_no, c.c.active_until.is_not(None))
                changes["is_foreign"] = and_(c.c.is_foreign, has_new_turn)
            await _update_row(tx, key, or_(c.c.lease_owner == owner, c.c.clearing == owner), changes)
        await _update_row(tx, key, c.c.clearing == owner, {"clearing": None, "clearing_until": None})


def _owner_list(turn_owner: str) -> list[str]:
    return [turn_owner] if turn_owner else []


def _done_values() -> dict[str, Any]:
    return {"learned_turn_no": c.c.claimed_turn_no, "done_turn_no": c.c.claimed_turn_no}


async def _update_row(
    tx: Transaction, key: SessionKey, condition: ColumnElement[bool], changes: dict[str, Any]
) -> bool:
    return (await tx.execute(update(c).where(where_session(key), condition).values(changes))).rowcount == 1


async def _expire_leases(
    tx: Transaction, condition: TextClause, owner: Column[Any], expires_at: Column[Any], now: float
) -> None:
    no_owner: dict[str, Any] = {owner.name: None, expires_at.name: None}
    await _update_unlocked(tx, [condition, has_expired(expires_at, now)], no_owner)
    for engine in await dead_owners(await _engine_names(tx, condition, owner)):
        # A clear ends with the process that ran it.
        not_clearing = {
            name: case((c.c.clearing == engine, None), else_=c.c[name]) for name in ("clearing", "clearing_until")
        }
        is_of_engine = or_(owner == engine, and_(owner > f"{engine}/", owner < upper_bound(engine)))
        await _update_unlocked(tx, [condition, is_of_engine], no_owner | not_clearing)


async def _engine_names(tx: Transaction, condition: TextClause, owner: Column[Any]) -> list[str]:
    """Return the engines that have marks: one index look-up each, however many turns they have."""
    found: list[str] = []
    statement = select(func.min(owner)).where(condition)
    while (name := (await tx.execute(statement)).scalar_one()) is not None:
        found.append(engine_name(name))
        statement = select(func.min(owner)).where(condition, owner >= upper_bound(found[-1]))
    return found


async def _update_unlocked(tx: Transaction, conditions: list[SqlCondition], changes: dict[str, Any]) -> None:
    # A statement that waits for no lock cannot be part of a deadlock: locked rows are left to their transaction.
    unlocked_rows = select(c.c.conversation).where(*conditions).with_for_update(skip_locked=True)
    await tx.execute(update(c).where(c.c.conversation.in_(unlocked_rows)).values(changes))
