"""Who is at work on a conversation. Each step is one conditional statement: the database decides who wins."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, func, or_, select, update

from gaia_memory.database.text import encode_id, storable
from gaia_memory.ledger.owner import owner_is_gone
from gaia_memory.ledger.rows import is_at, is_over, key_of, ledger_row
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.models import LedgerRow, Mark, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_NO_LEASE: dict[str, Any] = {"lease_owner": None, "lease_until": None}


async def due(
    tx: Transaction, *, now: float, quiet_since: float | None, limit: int, apps: Collection[str]
) -> list[SessionKey]:
    """Return conversations with something to learn or to clear that nobody is at, oldest first."""
    if not apps:
        return []
    gone = await _gone_owners(tx, now=now)
    statement = (
        select(c.c.app, c.c.user_id, c.c.session_id)
        .where(
            c.c.turn_no > c.c.done_turn_no,
            c.c.app.in_([encode_id(app) for app in apps]),
            is_over(c.c.active_until, now),
            or_(is_over(c.c.lease_until, now), c.c.lease_owner.in_(gone)),
        )
        .order_by(c.c.touched, c.c.conversation)
        .limit(limit)
    )
    if quiet_since is not None:
        statement = statement.where(c.c.touched <= quiet_since, is_over(c.c.retry_at, now), ~c.c.parked)
    return [key_of(row) for row in await tx.execute(statement)]


async def waiting_elsewhere(tx: Transaction, *, apps: Collection[str]) -> list[SessionKey]:
    """Return one conversation with something to learn or to clear of each app that is not among `apps`."""
    newest = (
        select(func.max(c.c.conversation))
        .where(c.c.turn_no > c.c.done_turn_no, c.c.app.not_in([encode_id(app) for app in apps]))
        .group_by(c.c.app)
    )
    statement = select(c.c.app, c.c.user_id, c.c.session_id).where(c.c.conversation.in_(newest))
    return [key_of(row) for row in await tx.execute(statement)]


async def _gone_owners(tx: Transaction, *, now: float) -> list[str]:
    statement = select(c.c.lease_owner).where(c.c.turn_no > c.c.done_turn_no, c.c.lease_until > now).distinct()
    owners = list((await tx.execute(statement)).scalars())
    return [owner for owner in owners if await asyncio.to_thread(owner_is_gone, owner)]


async def claim(tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> LedgerRow | None:
    """Take the lease; None while it is running, whoever holds it, and while a turn is active."""
    held = select(c.c.lease_owner).where(is_at(key), c.c.lease_until > now)
    holder = (await tx.execute(held)).scalar_one_or_none()
    free = is_over(c.c.lease_until, now)
    changes: dict[str, Any] = {
        "lease_owner": owner,
        "lease_until": now + lease_seconds,
        "claimed_turn_no": c.c.turn_no,
    }
    if holder is not None and await asyncio.to_thread(owner_is_gone, holder):
        free = or_(free, c.c.lease_owner == holder)
        # What it was clearing when it died is not being cleared any more.
        for name in ("clearing", "clearing_until"):
            changes[name] = case((c.c.clearing == holder, None), else_=c.c[name])
    statement = update(c).where(is_at(key), free, is_over(c.c.active_until, now)).values(changes).returning(c)
    row = (await tx.execute(statement)).one_or_none()
    return None if row is None else ledger_row(row)


async def renew(tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
    """Prolong an own lease; False when it was lost."""
    return await _change(tx, key, c.c.lease_owner == owner, {"lease_until": now + lease_seconds})


async def release(tx: Transaction, key: SessionKey, owner: str, *, done: bool) -> None:
    """Give an own lease back; with `done` nothing is left to do for the turns it was taken for."""
    await _change(tx, key, c.c.lease_owner == owner, _NO_LEASE | (_all_done() if done else {}))


async def release_all(tx: Transaction, owner: str) -> None:
    """Give back all leases of an owner."""
    await tx.execute(update(c).where(c.c.lease_owner == owner).values(_NO_LEASE))


async def advance(tx: Transaction, key: SessionKey, owner: str, *, read: Mark | None, to: Mark, turns: int) -> bool:
    """Move the watermark from `read` to `to` under an own lease."""
    unchanged = and_(
        c.c.lease_owner == owner,
        c.c.watermark_at.is_not_distinct_from(None if read is None else read.at),
        c.c.watermark_event.is_not_distinct_from(None if read is None else encode_id(read.event_id)),
    )
    changes = {
        "watermark_at": to.at,
        "watermark_event": encode_id(to.event_id),
        "learned_turns": c.c.learned_turns + turns,
        "learned_turn_no": c.c.claimed_turn_no,
        "attempts": 0,
        "retry_at": None,
        "last_error": None,
        "parked": False,
    }
    return await _change(tx, key, unchanged, changes)


async def failed(tx: Transaction, key: SessionKey, owner: str, *, error: str, retry_at: float, parked: bool) -> None:
    """Count a failed attempt under an own lease and give the lease back."""
    changes = {"attempts": c.c.attempts + 1, "last_error": storable(error), "retry_at": retry_at, "parked": parked}
    # Some of it may have been learned before the failure; not all was.
    changes["learned_turn_no"] = c.c.done_turn_no
    await _change(tx, key, c.c.lease_owner == owner, _NO_LEASE | changes)


async def begin_clearing(
    tx: Transaction, key: SessionKey, owner: str, *, turn_no: int, now: float, seconds: float
) -> bool:
    """Set `clearing` where the lease is ours, the turn number as given, and no turn active."""
    untouched = and_(
        c.c.lease_owner == owner,
        c.c.turn_no == turn_no,
        is_over(c.c.active_until, now),
        or_(is_over(c.c.clearing_until, now), c.c.clearing == owner),
    )
    return await _change(tx, key, untouched, {"clearing": owner, "clearing_until": now + seconds})


async def end_clearing(tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None) -> None:
    """Unset `clearing`; with `cleared_at` the conversation begins anew."""
    if cleared_at is not None:
        changes: dict[str, Any] = {"cleared_at": cleared_at, "profile": None, "profile_key": None}
        changes |= {"anchor_turn_no": None, "anchor_at": None, "attempts": 0, "last_error": None} | _all_done()
        await _change(tx, key, or_(c.c.lease_owner == owner, c.c.clearing == owner), changes)
    await _change(tx, key, c.c.clearing == owner, {"clearing": None, "clearing_until": None})


def _all_done() -> dict[str, Any]:
    return {"learned_turn_no": c.c.claimed_turn_no, "done_turn_no": c.c.claimed_turn_no}


async def _change(tx: Transaction, key: SessionKey, condition: ColumnElement[bool], changes: dict[str, Any]) -> bool:
    return (await tx.execute(update(c).where(is_at(key), condition).values(changes))).rowcount == 1
