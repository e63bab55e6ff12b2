"""Databases that know many conversations of which few are due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import insert, update

from gaia_memory.database.id_encoding import bounded
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.ledger import new_owner
from gaia_memory.ledger.rows import fresh
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import SessionKey

APP = "gaia"
DUE = 10
NOW = 1_772_366_400.0
"""The first of March 2026, at noon."""
QUIET_SINCE = NOW - 1800.0
_LONG_AGO = NOW - 86_400.0
_BATCH = 500

_WAITING = {"turn_no": 1}
MIXES: dict[str, dict[str, Any]] = {
    "learned and cleared": {"turn_no": 1, "done_turn_no": 1, "learned_turn_no": 1, "touched": _LONG_AGO},
    "not quiet for long enough": _WAITING | {"touched": NOW - 60.0},
    "parked": _WAITING | {"touched": _LONG_AGO, "parked": True, "attempts": 8},
    "put off": _WAITING | {"touched": _LONG_AGO, "retry_at": NOW + 600.0, "attempts": 1},
    "of apps that are not read here": _WAITING | {"touched": _LONG_AGO, "app": "elsewhere", "app_key": "elsewhere"},
    "talked in": _WAITING | {"touched": _LONG_AGO, "active_until": NOW + 600.0},
    "at work elsewhere": _WAITING | {"touched": _LONG_AGO, "lease_until": NOW + 20.0},
}
"""What keeps all but a few conversations from being due."""


async def know(database: SqlDatabase, mix: str, known: int) -> None:
    """Enter conversations, all but `DUE` of them kept from being due by a mix."""
    rows = list(_kept_from_being_due(MIXES[mix], known - DUE))
    for start in range(0, len(rows), _BATCH):
        await _enter(database, rows[start : start + _BATCH])
    await _enter(database, [_row(key, _WAITING | {"touched": _LONG_AGO + at}) for at, key in enumerate(due_keys())])
    if not database.is_local:
        # A server does so by itself within a minute; SQLite never does.
        async with database.transaction() as tx:
            await tx.exec_driver_sql("ANALYZE gaia_conversations")


def _kept_from_being_due(marks: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    owner = new_owner()
    for number in range(count):
        own = dict(marks)
        if "active_until" in own:
            own["active_owner"] = f"{owner}/{number:x}"
        if "lease_until" in own:
            own["lease_owner"] = owner
        yield _row(SessionKey(APP, f"person {number // 5}", f"session {number}"), own)


def due_keys() -> list[SessionKey]:
    """Name the conversations that are due, one a person."""
    return [SessionKey(APP, f"due {number}", "session") for number in range(DUE)]


async def make_due_again(database: SqlDatabase) -> None:
    """Let a turn be counted, a while ago, in each of those that were due."""
    async with database.transaction() as tx:
        those = conversations.c.person.in_([bounded(key.user) for key in due_keys()])
        turn = {"turn_no": conversations.c.turn_no + 1, "touched": _LONG_AGO}
        await tx.execute(update(conversations).where(those).values(turn))


def _row(key: SessionKey, marks: dict[str, Any]) -> dict[str, Any]:
    empty = dict.fromkeys(("active_until", "active_owner", "lease_until", "lease_owner", "retry_at"))
    return fresh(key, touched=0.0) | empty | marks


async def _enter(database: SqlDatabase, rows: Sequence[dict[str, Any]]) -> None:
    async with database.transaction() as tx:
        await tx.execute(insert(conversations), list(rows))
