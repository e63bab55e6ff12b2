"""Databases with many conversations, of which few are due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import insert

from gaia_memory.database.sql_engine import Database
from gaia_memory.ledger import new_owner
from gaia_memory.ledger.rows import new_row_values
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import SessionKey

APP = "gaia"
DUE_COUNT = 10
NOW = 1_772_366_400.0
"""Noon on 1 March 2026."""
QUIET_SINCE = NOW - 1800.0
_LONG_QUIET_AT = NOW - 86_400.0
_ROWS_PER_BATCH = 500

_UNLEARNED = {"turn_no": 1}
POPULATIONS: dict[str, dict[str, Any]] = {
    "learned and cleared": {"turn_no": 1, "done_turn_no": 1, "learned_turn_no": 1, "touched": _LONG_QUIET_AT},
    "not quiet for long enough": _UNLEARNED | {"touched": NOW - 60.0},
    "parked": _UNLEARNED | {"touched": _LONG_QUIET_AT, "parked": True, "attempts": 8},
    "put off": _UNLEARNED | {"touched": _LONG_QUIET_AT, "retry_at": NOW + 600.0, "attempts": 1},
    "of apps that are not read here": _UNLEARNED
    | {"touched": _LONG_QUIET_AT, "app": "elsewhere", "app_key": "elsewhere"},
    "talked in": _UNLEARNED | {"touched": _LONG_QUIET_AT, "active_until": NOW + 600.0},
    "at work elsewhere": _UNLEARNED | {"touched": _LONG_QUIET_AT, "lease_until": NOW + 20.0},
}
"""The states in which a conversation is not due."""


async def populate_ledger(database: Database, population: str, conversation_count: int) -> None:
    """Insert conversations, all but `DUE_COUNT` of them in one of the states that are not due."""
    rows = list(_not_due_rows(POPULATIONS[population], conversation_count - DUE_COUNT))
    for start in range(0, len(rows), _ROWS_PER_BATCH):
        await _insert_rows(database, rows[start : start + _ROWS_PER_BATCH])
    await _insert_rows(
        database, [_row(key, _UNLEARNED | {"touched": _LONG_QUIET_AT + at}) for at, key in enumerate(due_keys())]
    )
    if not database.is_local:
        # A server does so automatically within a minute; SQLite never does.
        async with database.transaction() as tx:
            await tx.exec_driver_sql("ANALYZE gaia_conversations")


def _not_due_rows(marks: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    owner = new_owner()
    for number in range(count):
        columns = dict(marks)
        if "active_until" in columns:
            columns["active_owner"] = f"{owner}/{number:x}"
        if "lease_until" in columns:
            columns["lease_owner"] = owner
        yield _row(SessionKey(APP, f"person {number // 5}", f"session {number}"), columns)


def due_keys() -> list[SessionKey]:
    """Return the conversations that are due, one per user."""
    return [SessionKey(APP, f"due {number}", "session") for number in range(DUE_COUNT)]


def _row(key: SessionKey, marks: dict[str, Any]) -> dict[str, Any]:
    empty = dict.fromkeys(("active_until", "active_owner", "lease_until", "lease_owner", "retry_at"))
    return new_row_values(key, touched=0.0) | empty | marks


async def _insert_rows(database: Database, rows: Sequence[dict[str, Any]]) -> None:
    async with database.transaction() as tx:
        await tx.execute(insert(conversations), list(rows))
