"""Rows of the ledger as the values that travel, and how they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, ColumnElement, Row, Table, TextClause, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from gaia_memory.database.id_encoding import bounded, decode_id, encode_id
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import Anchor, LedgerRow, Mark, Pending, SessionKey
from gaia_memory.ports.ledger import ACTIVE_SECONDS, CLEAR_SECONDS, LEASE_SECONDS, LONGEST_PAUSE, SKEW_SECONDS

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

Condition = ColumnElement[bool] | TextClause

UNLEARNED = -1
"""`learned_turn_no` of talk that was there before its first counted turn."""


def insert(tx: Transaction, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows ON CONFLICT, in the dialect of the database."""
    return postgresql.insert(table) if tx.dialect.name == "postgresql" else sqlite.insert(table)


def handle(key: SessionKey) -> str:
    """Return a conversation as one key."""
    return bounded(key.app, key.user, key.session)


def is_at(key: SessionKey) -> ColumnElement[bool]:
    """Match the row of a conversation."""
    return conversations.c.conversation == handle(key)


_LONGEST = {
    "active_until": ACTIVE_SECONDS,
    "lease_until": LEASE_SECONDS,
    "clearing_until": CLEAR_SECONDS,
    "retry_at": LONGEST_PAUSE,
}


def is_over(mark: Column[Any], now: float) -> ColumnElement[bool]:
    """Match where a mark is not set or does not hold any more; `ports.ledger.runs` says the same of a value."""
    return or_(mark.is_(None), has_ended(mark, now))


def has_ended(mark: Column[Any], now: float) -> ColumnElement[bool]:
    """Match where a mark is set and does not hold: it has run out, or lies further ahead than it can."""
    return or_(mark <= now, mark > now + _LONGEST[mark.name] + SKEW_SECONDS)


async def values_of(tx: Transaction, column: Column[Any], holds: TextClause) -> list[str]:
    """Return the different values of a column that is first in an index of the rows where `holds` does.

    One look into the index a value, however many rows share it.
    """
    found: list[str] = []
    statement = select(func.min(column)).where(holds)
    while (value := (await tx.execute(statement)).scalar_one()) is not None:
        found.append(value)
        statement = select(func.min(column)).where(holds, column > value)
    return found


def fresh(key: SessionKey, *, touched: float) -> dict[str, Any]:
    """Return the row of a conversation nobody has spoken in."""
    return {
        "conversation": handle(key),
        "person": bounded(key.user),
        "app_key": bounded(key.app),
        "app": encode_id(key.app),
        "user_id": encode_id(key.user),
        "session_id": encode_id(key.session),
        "turn_no": 0,
        "touched": touched,
        "learned_turns": 0,
        "learned_turn_no": 0,
        "done_turn_no": 0,
        "claimed_turn_no": 0,
        "attempts": 0,
        "parked": False,
    }


def key_of(row: Row[*tuple[Any, ...]]) -> SessionKey:
    """Return which conversation a row is about."""
    return SessionKey(decode_id(row.app), decode_id(row.user_id), decode_id(row.session_id))


def ledger_row(row: Row[*tuple[Any, ...]]) -> LedgerRow:
    """Return a row as a value."""
    return LedgerRow(
        key=key_of(row),
        turn_no=row.turn_no,
        active_until=row.active_until,
        active_owner=row.active_owner,
        touched=row.touched,
        watermark=None if row.watermark_at is None else Mark(row.watermark_at, decode_id(row.watermark_event)),
        learned_turns=row.learned_turns,
        is_learned=row.turn_no <= row.learned_turn_no,
        is_done=row.turn_no <= row.done_turn_no,
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        clearing=row.clearing,
        clearing_until=row.clearing_until,
        cleared_at=row.cleared_at,
        rewound_at=row.rewound_at,
        is_foreign=row.is_foreign,
        is_private=row.is_private,
        asks_of_rows=row.asks_of_rows,
        attempts=row.attempts,
        bad_answers=row.bad_answers,
        failing_since=row.failing_since,
        retry_at=row.retry_at,
        last_error=row.last_error,
        parked=row.parked,
        forgotten_at=row.forgotten_at,
        profile=row.profile,
        profile_key=row.profile_key,
        profile_made_at=row.profile_made_at,
        profile_made_by=row.profile_made_by,
        anchor=None if row.anchor_turn_no is None else Anchor(turn_no=row.anchor_turn_no, at=row.anchor_at),
    )


def pending(row: Row[*tuple[Any, ...]]) -> Pending:
    """Return what a person is told of a conversation that waits."""
    return Pending(
        key=key_of(row),
        touched=row.touched,
        attempts=row.attempts,
        failing_since=row.failing_since,
        reason=row.last_error,
        retry_at=row.retry_at,
        parked=row.parked,
    )
