"""Converts rows of the ledger to values, and builds the conditions that find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, ColumnElement, Row, TextClause, bindparam, func, or_, select

from gaia_memory.database.id_encoding import decode_id, encode_id, index_key
from gaia_memory.ledger.tables import conversations
from gaia_memory.models import (
    ClearingState,
    EventPosition,
    FailureState,
    FrozenProfile,
    LearningProgress,
    LeaseState,
    LedgerRow,
    PendingConversation,
    SessionKey,
    SessionState,
    TurnState,
    WindowAnchor,
)
from gaia_memory.models.quiet_conversations import (
    BACKOFF_MARKS,
    CLAIM_MARKS,
    CLEAR_LEASE_SECONDS,
    MAX_CLOCK_SKEW_SECONDS,
)

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

SqlCondition = ColumnElement[bool] | TextClause

UNLEARNED_TURN_NO = -1
"""`learned_turn_no` of a conversation with messages older than its first counted turn: they count as one turn."""


def conversation_key(key: SessionKey) -> str:
    """Return a conversation as one key."""
    return index_key(key.app, key.user, key.session)


def where_session(key: SessionKey) -> ColumnElement[bool]:
    """Match the row of a conversation."""
    return conversations.c.conversation == conversation_key(key)


_MAX_SECONDS_BY_COLUMN = {**CLAIM_MARKS, **BACKOFF_MARKS, "clearing_until": CLEAR_LEASE_SECONDS}


def is_unset_or_expired(column: Column[Any], now: float | ColumnElement[float]) -> ColumnElement[bool]:
    """Match where a mark is not set or not in force; `is_in_force` is the same rule for a value."""
    return or_(column.is_(None), has_expired(column, now))


def has_expired(column: Column[Any], now: float | ColumnElement[float]) -> ColumnElement[bool]:
    """Match where a mark is set and not in force: it has expired, or is further ahead than its maximum duration."""
    return or_(column <= now, column > now + _MAX_SECONDS_BY_COLUMN[column.name] + MAX_CLOCK_SKEW_SECONDS)


_SELECT_ROW = select(conversations).where(conversations.c.conversation == bindparam("its_conversation"))
"""Built once, because every turn uses it."""


async def load_row(tx: Transaction, key: SessionKey) -> LedgerRow | None:
    """Return the row of a conversation."""
    row = (await tx.execute(_SELECT_ROW, {"its_conversation": conversation_key(key)})).one_or_none()
    return None if row is None else to_ledger_row(row)


async def distinct_values(tx: Transaction, column: Column[Any], condition: TextClause) -> list[str]:
    """Return the distinct values of a column that is the first one of the partial index on `condition`.

    Each value costs one index look-up, however many rows share it.
    """
    found: list[str] = []
    statement = select(func.min(column)).where(condition)
    while (value := (await tx.execute(statement)).scalar_one()) is not None:
        found.append(value)
        statement = select(func.min(column)).where(condition, column > value)
    return found


def new_row_values(key: SessionKey, *, touched: float) -> dict[str, Any]:
    """Return the row of a conversation without turns."""
    return {
        "conversation": conversation_key(key),
        "person": index_key(key.user),
        "app_key": index_key(key.app),
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


def session_key(row: Row[*tuple[Any, ...]]) -> SessionKey:
    """Return the conversation of a row."""
    return SessionKey(decode_id(row.app), decode_id(row.user_id), decode_id(row.session_id))


def to_ledger_row(row: Row[*tuple[Any, ...]]) -> LedgerRow:
    """Return a row as a value."""
    return LedgerRow(
        key=session_key(row),
        turn=TurnState(
            turn_no=row.turn_no, active_until=row.active_until, active_owner=row.active_owner, touched=row.touched
        ),
        progress=LearningProgress(
            watermark=None
            if row.watermark_at is None
            else EventPosition(row.watermark_at, decode_id(row.watermark_event)),
            learned_turns=row.learned_turns,
            unlearned_turns=_unlearned_turns(row),
            is_learned=row.turn_no <= row.learned_turn_no,
            is_done=row.turn_no <= row.done_turn_no,
            forgotten_at=row.forgotten_at,
            requests=row.requests,
        ),
        lease=LeaseState(owner=row.lease_owner, expires_at=row.lease_until),
        failures=FailureState(
            attempts=row.attempts,
            bad_answers=row.bad_answers,
            failing_since=row.failing_since,
            retry_at=row.retry_at,
            last_error=row.last_error,
            is_parked=row.parked,
        ),
        clearing=ClearingState(
            owner=row.clearing,
            expires_at=row.clearing_until,
            cleared_at=row.cleared_at,
            rewound_at=row.rewound_at,
            reset_at=row.reset_at,
        ),
        session=SessionState(
            is_foreign=row.is_foreign,
            is_private=row.is_private,
            has_pending_confirmation=row.asks_of_rows,
            profile=_profile(row),
            anchor=_anchor(row),
        ),
    )


def _profile(row: Row[*tuple[Any, ...]]) -> FrozenProfile | None:
    if row.profile is None:
        return None
    return FrozenProfile(
        block=row.profile, key=row.profile_key, made_at=row.profile_made_at, made_by=row.profile_made_by
    )


def _anchor(row: Row[*tuple[Any, ...]]) -> WindowAnchor | None:
    return None if row.anchor_turn_no is None else WindowAnchor(turn_no=row.anchor_turn_no, timestamp=row.anchor_at)


def to_pending(row: Row[*tuple[Any, ...]]) -> PendingConversation:
    """Return a row as a conversation that waits to be learned."""
    return PendingConversation(
        key=session_key(row),
        touched=row.touched,
        attempts=row.attempts,
        failing_since=row.failing_since,
        reason=row.last_error,
        retry_at=row.retry_at,
        parked=row.parked,
        active_until=row.active_until,
        lease_owner=row.lease_owner,
        lease_until=row.lease_until,
        messages=_unlearned_turns(row),
        is_private=row.is_private,
    )


def _unlearned_turns(row: Row[*tuple[Any, ...]]) -> int:
    return int(max(row.turn_no - row.learned_turn_no, 0))
