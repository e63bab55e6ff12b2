"""Removes expired marks, so that a query finds their conversations in an index of unmarked rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, TextClause, and_, case, func, or_, select, update

from gaia_memory.database.id_encoding import decode_id, index_key
from gaia_memory.ledger.process_identity import dead_owners, engine_name, upper_bound
from gaia_memory.ledger.rows import SqlCondition, distinct_values, has_expired
from gaia_memory.ledger.tables import HAS_ACTIVE_TURN, HAS_BACKOFF, HAS_LEASE, IS_UNCLAIMED, MISSING_APP_KEY
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.ports.ledger import MAX_CLOCK_SKEW_SECONDS

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class ExpiryMixin:
    """The part of the ledger that removes expired marks."""

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Remove expired marks and those of dead processes."""
        await _expire_leases(tx, HAS_ACTIVE_TURN, c.c.active_owner, c.c.active_until, now)
        await _expire_leases(tx, HAS_LEASE, c.c.lease_owner, c.c.lease_until, now)
        await _update_unlocked(tx, [HAS_BACKOFF, has_expired(c.c.retry_at, now)], {"retry_at": None})
        app_keys = await distinct_values(tx, c.c.app_key, IS_UNCLAIMED)
        if MISSING_APP_KEY in app_keys:
            await _backfill_app_keys(tx)
        for app_key in app_keys:
            conditions: list[SqlCondition] = [
                IS_UNCLAIMED,
                c.c.app_key == app_key,
                c.c.touched > now + MAX_CLOCK_SKEW_SECONDS,
            ]
            await _update_unlocked(tx, conditions, {"touched": now})


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
        statement = select(func.min(owner)).where(condition, owner > name, owner >= upper_bound(found[-1]))
    return found


async def _backfill_app_keys(tx: Transaction) -> None:
    """Fill in the app key of conversations that a process of the previous version entered."""
    apps_without_key = select(c.c.app).where(IS_UNCLAIMED, c.c.app_key == MISSING_APP_KEY).distinct()
    for app in (await tx.execute(apps_without_key)).scalars().all():
        await _update_unlocked(
            tx, [IS_UNCLAIMED, c.c.app_key == MISSING_APP_KEY, c.c.app == app], {"app_key": index_key(decode_id(app))}
        )


async def _update_unlocked(tx: Transaction, conditions: list[SqlCondition], changes: dict[str, Any]) -> None:
    # A statement that waits for no lock cannot be part of a deadlock: locked rows are left to their transaction.
    unlocked_rows = select(c.c.conversation).where(*conditions).with_for_update(skip_locked=True)
    await tx.execute(update(c).where(c.c.conversation.in_(unlocked_rows)).values(changes))
