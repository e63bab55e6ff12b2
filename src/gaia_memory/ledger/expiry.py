"""Marks that do not hold any more are taken back, so that a search finds what they were on without looking at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, TextClause, and_, case, func, or_, select, update

from gaia_memory.database.id_encoding import bounded, decode_id
from gaia_memory.ledger.process_identity import behind, engine_of, those_gone
from gaia_memory.ledger.rows import Condition, has_ended, values_of
from gaia_memory.ledger.tables import AT_REST, LEASED, NO_KEY, PUT_OFF, TALKING
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.ports.ledger import SKEW_SECONDS

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class Expiry:
    """The part of the ledger that takes marks back."""

    async def expire(self, tx: Transaction, *, now: float) -> None:
        """Take back the marks that have run out or whose process is gone."""
        await _take_back(tx, TALKING, c.c.active_owner, c.c.active_until, now)
        await _take_back(tx, LEASED, c.c.lease_owner, c.c.lease_until, now)
        await _change(tx, [PUT_OFF, has_ended(c.c.retry_at, now)], {"retry_at": None})
        app_keys = await values_of(tx, c.c.app_key, AT_REST)
        if NO_KEY in app_keys:
            await _name_apps(tx)
        for app_key in app_keys:
            ahead: list[Condition] = [AT_REST, c.c.app_key == app_key, c.c.touched > now + SKEW_SECONDS]
            await _change(tx, ahead, {"touched": now})


async def _take_back(tx: Transaction, marked: TextClause, owner: Column[Any], until: Column[Any], now: float) -> None:
    nobody: dict[str, Any] = {owner.name: None, until.name: None}
    await _change(tx, [marked, has_ended(until, now)], nobody)
    for engine in await those_gone(await _engines(tx, marked, owner)):
        # What it was clearing when it died is not being cleared any more.
        not_clearing = {
            name: case((c.c.clearing == engine, None), else_=c.c[name]) for name in ("clearing", "clearing_until")
        }
        its = or_(owner == engine, and_(owner > f"{engine}/", owner < behind(engine)))
        await _change(tx, [marked, its], nobody | not_clearing)


async def _engines(tx: Transaction, marked: TextClause, owner: Column[Any]) -> list[str]:
    """Return the engines of which there are marks: one look into the index each, however many turns they have."""
    found: list[str] = []
    statement = select(func.min(owner)).where(marked)
    while (name := (await tx.execute(statement)).scalar_one()) is not None:
        found.append(engine_of(name))
        statement = select(func.min(owner)).where(marked, owner > name, owner >= behind(found[-1]))
    return found


async def _name_apps(tx: Transaction) -> None:
    """Give their key to the apps of conversations that a process of the version before this one entered."""
    nameless = select(c.c.app).where(AT_REST, c.c.app_key == NO_KEY).distinct()
    for app in (await tx.execute(nameless)).scalars().all():
        await _change(tx, [AT_REST, c.c.app_key == NO_KEY, c.c.app == app], {"app_key": bounded(decode_id(app))})


async def _change(tx: Transaction, conditions: list[Condition], changes: dict[str, Any]) -> None:
    # Who waits for nobody cannot be part of a deadlock: what somebody else is at just now is his.
    those = select(c.c.conversation).where(*conditions).with_for_update(skip_locked=True)
    await tx.execute(update(c).where(c.c.conversation.in_(those)).values(changes))
