"""What happens to a person's facts, as a stream of server-sent events that resumes where it broke off."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import Fact
from gaia_memory.server.access.access_control import AccessControl
from gaia_memory.server.routes.person import OfPerson, Person
from gaia_memory.server.routes.request_forms import Empty

router = APIRouter(prefix="/v1/apps/{app}/users/{user}", tags=["events"])

POLL_SECONDS = 1.0
_POLLS_PER_HEARTBEAT = 15
_CURSOR = re.compile(r"(?P<change>\d{1,18})(?:-(?P<due_at>\d{1,12}\.\d{6})-(?P<due_id>[\w-]*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class EventCursor:
    """How far a client has followed: the last change, and the last fact that fell due. It is the id of an event."""

    change: int
    due_at: float
    due_id: str = ""

    def __str__(self) -> str:
        return f"{self.change}-{self.due_at:.6f}-{self.due_id}"


@router.get("/events", response_class=StreamingResponse)
async def stream_events(
    request: Request,
    person: OfPerson,
    query: Empty,
    last_event_id: Annotated[str | None, Header(description="The id of the last event received; `0` for all.")] = None,
) -> StreamingResponse:
    """Stream `added`, `replaced`, `forgotten` and `due` events, whichever process writes.

    Each is JSON with `fact_id` and `fact`, which is null once the fact is not current. A `forgotten` event without
    `fact_id` means everything.
    """
    cursor = await _parse(person, last_event_id)
    # Before the answer begins, so that a database that is away is told by the status.
    first, cursor = await _read(person, cursor)
    access: AccessControl = request.app.state.access

    async def events() -> AsyncIterator[str]:
        nonlocal cursor
        yield "".join(first) or f"id: {cursor}\n\n"
        polls = 0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            polls += 1
            if polls % _POLLS_PER_HEARTBEAT == 0:
                await access.refresh()
                if access.identify(request) != person.caller:
                    return
                yield ": still here\n\n"
            try:
                lines, cursor = await _read(person, cursor)
            except MemoryUnavailable:
                # The client comes back with the id of the last event.
                return
            if lines:
                yield "".join(lines)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _parse(person: Person, last_event_id: str | None) -> EventCursor:
    """Return where a client wants to go on; without a word about that, what happens from here on."""
    now = person.memory.clock.now().timestamp()
    last_change = await person.memory.last_change(person.scope)
    if not last_event_id:
        return EventCursor(last_change, now)
    parts = _CURSOR.fullmatch(last_event_id)
    if parts is None:
        raise HTTPException(422, "Last-Event-ID: pass the id of an event of this stream, or 0")
    change = int(parts["change"])
    # A restored backup is behind what the client has seen: it gets everything once more.
    change = 0 if change > last_change else change
    return EventCursor(change, now if parts["due_at"] is None else float(parts["due_at"]), parts["due_id"] or "")


async def _read(person: Person, cursor: EventCursor) -> tuple[list[str], EventCursor]:
    """Return the events after a cursor, and the cursor after them."""
    lines = []
    for change in await person.memory.changes(person.scope, after=cursor.change):
        cursor = replace(cursor, change=change.number)
        fact = None if change.fact is None else person.to_json(change.fact)
        lines.append(_event(cursor, change.kind, change.fact_id, fact))
    due = await person.memory.due(person.scope, timedelta(), include_sensitive=True)
    for due_at, fact_id, due_fact in sorted((_due_time(each), each.id, each) for each in due):
        if (due_at, fact_id) > (cursor.due_at, cursor.due_id):
            cursor = replace(cursor, due_at=due_at, due_id=fact_id)
            lines.append(_event(cursor, "due", fact_id, person.to_json(due_fact)))
    return lines, cursor


def _due_time(fact: Fact) -> float:
    """Return when a fact is due, as the id of an event has it."""
    return 0.0 if fact.due_at is None else round(fact.due_at.timestamp(), 6)


def _event(cursor: EventCursor, kind: str, fact_id: str | None, fact: dict[str, Any] | None) -> str:
    data = json.dumps({"fact_id": fact_id, "fact": fact})
    return f"id: {cursor}\nevent: {kind}\ndata: {data}\n\n"
