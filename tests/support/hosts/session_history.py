"""Long sessions in ADK's session database, written at once: appending 20,000 events one by one takes minutes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from google.adk.sessions.session import Session
from google.genai import types
from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

EVENTS_PER_TURN = 4
"""The message, a call, its response, the reply: together about 1 KB of text."""

_WORDS = ("garden", "kitchen", "train", "violin", "harbour", "letter", "winter", "market", "bicycle", "lantern")
_SECONDS_PER_TURN = 30.0


def conversation_events(events: int, *, until: float | None = None) -> list[Event]:
    """Return the newest `events` of a conversation whose turns each call a tool; it ends a minute before `until`."""
    turns = -(-events // EVENTS_PER_TURN)
    end = (until or time.time()) - 60
    generated = [event for n in range(turns) for event in _turn_events(n, at=end - (turns - n) * _SECONDS_PER_TURN)]
    return generated[len(generated) - events :]


def sentences(n: int, length: int) -> str:
    """Return about `length` characters that are unique to this number."""
    words = [f"{_WORDS[(n * 7 + index * 3) % len(_WORDS)]}{n}" for index in range(length // 8)]
    return " ".join(words)[:length]


def _turn_events(n: int, *, at: float) -> Iterator[Event]:
    call_id = f"call-{n}"
    call = types.FunctionCall(id=call_id, name="look_up", args={"topic": sentences(n, 60)})
    response = types.FunctionResponse(id=call_id, name="look_up", response={"found": sentences(n, 300)})
    contents = (
        ("user", types.Content(role="user", parts=[types.Part(text=f"Question {n}: {sentences(n, 250)}")])),
        ("assistant", types.Content(role="model", parts=[types.Part(function_call=call)])),
        ("assistant", types.Content(role="user", parts=[types.Part(function_response=response)])),
        ("assistant", types.Content(role="model", parts=[types.Part(text=f"Answer {n}: {sentences(n, 350)}")])),
    )
    for index, (author, content) in enumerate(contents):
        yield Event(invocation_id=f"e-{n}", author=author, content=content, timestamp=at + index)


async def append_events(engine: AsyncEngine, *, app: str, user: str, session_id: str, events: Sequence[Event]) -> None:
    """Append events to a session at once, as if another process had appended them one by one."""
    rows = [StorageEvent.from_event(Session(app_name=app, user_id=user, id=session_id), event) for event in events]
    if not rows:
        return
    names = [column.name for column in StorageEvent.__table__.columns]
    conditions = (StorageSession.app_name == app, StorageSession.user_id == user, StorageSession.id == session_id)
    async with engine.begin() as connection:
        await connection.execute(insert(StorageEvent), [{name: getattr(row, name) for name in names} for row in rows])
        await connection.execute(update(StorageSession).where(*conditions).values(update_time=rows[-1].timestamp))


async def store_session(url: str, *, app: str, user: str, session_id: str, events: Sequence[Event]) -> None:
    """Create a session that contains `events`, as ADK would have stored them."""
    engine = create_async_engine(url)
    try:
        await DatabaseSessionService(db_engine=engine).create_session(app_name=app, user_id=user, session_id=session_id)
        await append_events(engine, app=app, user=user, session_id=session_id, events=events)
    finally:
        await engine.dispose()
