"""Rows of the ledger as the values that travel, and how they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Row, Table, or_
from sqlalchemy.dialects import postgresql, sqlite

from gaia_memory.database.text import bounded, decode_id, encode_id
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import Anchor, LedgerRow, Mark, Pending, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

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


def is_over(until: ColumnElement[Any], now: float) -> ColumnElement[bool]:
    """Match where a time is not set or has come."""
    return or_(until.is_(None), until <= now)


def fresh(key: SessionKey, *, touched: float) -> dict[str, Any]:
    """Return the row of a conversation nobody has spoken in."""
    return {
        "conversation": handle(key),
        "person": bounded(key.user),
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
        touched=row.touched,
        watermark=None if row.watermark_at is None else Mark(row.watermark_at, decode_id(row.watermark_event)),
        learned_turns=row.learned_turns,
        is_learned=row.turn_no <= row.learned_turn_no,
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        clearing=row.clearing,
        clearing_until=row.clearing_until,
        cleared_at=row.cleared_at,
        attempts=row.attempts,
        retry_at=row.retry_at,
        last_error=row.last_error,
        parked=row.parked,
        forgotten_at=row.forgotten_at,
        profile=row.profile,
        profile_key=row.profile_key,
        anchor=None if row.anchor_turn_no is None else Anchor(turn_no=row.anchor_turn_no, at=row.anchor_at),
    )


def pending(row: Row[*tuple[Any, ...]]) -> Pending:
    """Return what a person is told of a conversation that waits."""
    return Pending(
        key=key_of(row),
        touched=row.touched,
        attempts=row.attempts,
        reason=row.last_error,
        retry_at=row.retry_at,
        parked=row.parked,
    )
