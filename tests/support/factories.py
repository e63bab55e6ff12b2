"""Short constructors of messages, facts and hits for the tests of learning, recall and profiles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gaia_memory.models import Chunk, EventPosition, Fact, Message, Role, Scope, SessionKey, Turn

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
KEY = SessionKey("gaia", "itay", "itay:cli")
SCOPE = Scope("gaia", "itay")


def make_message(role: Role, text: str, *, seq: int = 1, at: datetime = NOON) -> Message:
    """Return a message whose event id names its turn and role."""
    speaker = "itay" if role == "user" else "gaia"
    return Message(role=role, text=text, said_at=at, event_id=f"{seq}-{role}", speaker=speaker)


def make_turn(seq: int, user_text: str, assistant_text: str = "ok", *, at: datetime | None = None) -> Turn:
    """Return a turn of two messages; each turn begins a minute after the one before."""
    when = at or NOON + timedelta(minutes=seq)
    messages = (
        make_message("user", user_text, seq=seq, at=when),
        make_message("assistant", assistant_text, seq=seq, at=when),
    )
    return Turn(seq=seq, messages=messages, end=EventPosition(when.timestamp(), f"{seq}-assistant"))


def make_chunk(*turns: Turn) -> Chunk:
    """Return a chunk of these turns."""
    return Chunk(key=KEY, turns=turns)


def make_fact(
    fact_id: str,
    text: str = "",
    *,
    session: str | None = None,
    seq: int | None = None,
    said_at: datetime | None = None,
    scope: Scope = SCOPE,
    **details: Any,
) -> Fact:
    """Return a fact; its text is its id unless given."""
    return Fact(
        id=fact_id,
        scope=scope,
        text=text or fact_id,
        source="add",
        created_at=NOON,
        updated_at=NOON,
        said_at=said_at,
        session_id=session,
        seq=seq,
        **details,
    )
