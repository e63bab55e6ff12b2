"""Reads out-of-order turns: the clock was behind when they ran, so they are before the watermark or a rewind of ours.

They are found by their invocations. ADK's order of a session is wrong for them: an earlier rewind seems to rewind
them, although they ran after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from gaia_memory.adk.sessions.event_mapping import turns_of
from gaia_memory.adk.sessions.event_pages import EventRange, pages
from gaia_memory.models import EventPosition, Turn

if TYPE_CHECKING:
    from google.adk.events.event import Event

    from gaia_memory.adk.sessions.event_pages import StoredEvents

_ROUNDING_SECONDS = 0.01
"""How far an event's time may be before the start of its turn: databases round."""

_MAX_INVOCATIONS_PER_QUERY = 100


async def read_out_of_order_turns(
    events: StoredEvents,
    started_at: Mapping[str, float],
    *,
    boundary: float,
    own_rewind_key: str,
    turns_before: int,
    zone: tzinfo = UTC,
) -> tuple[Turn, ...]:
    """Return the turns of invocations, from each `started_at` on, whose first event is at or before `boundary`.

    Reading from there finds the others. A user's rewind to one of them rewinds it; our own rewinds, which have
    `own_rewind_key` in the state, were made before it.
    """
    from_start = EventRange(after=EventPosition(min(started_at.values()) - _ROUNDING_SECONDS, ""))
    turn_events = [
        event
        for event in await _read_invocations(events, from_start, sorted(started_at))
        if _is_after_start(event, started_at)
    ]
    first_times: dict[str, float] = {}
    for event in turn_events:
        first_times[event.invocation_id] = min(event.timestamp, first_times.get(event.invocation_id, event.timestamp))
    late_invocations = {invocation for invocation, at in first_times.items() if at <= boundary}
    selected = [event for event in turn_events if event.invocation_id in late_invocations]
    async for page in pages(events, replace(from_start, carrying="rewind")):
        selected += [
            event
            for event in page
            if _rewind_target(event) in late_invocations and own_rewind_key not in event.actions.state_delta
        ]
    return turns_of(sorted(selected, key=lambda event: event.timestamp), turns_before=turns_before, zone=zone)


async def _read_invocations(events: StoredEvents, event_range: EventRange, invocations: list[str]) -> list[Event]:
    found: list[Event] = []
    for start in range(0, len(invocations), _MAX_INVOCATIONS_PER_QUERY):
        batch = replace(event_range, invocations=invocations[start : start + _MAX_INVOCATIONS_PER_QUERY])
        async for page in pages(events, batch):
            found += page
    return found


def _is_after_start(event: Event, started_at: Mapping[str, float]) -> bool:
    return event.timestamp >= started_at[event.invocation_id] - _ROUNDING_SECONDS


def _rewind_target(event: Event) -> str | None:
    return event.actions.rewind_before_invocation_id
