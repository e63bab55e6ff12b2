"""Turns that were said while the clock was behind: they lie before the watermark, or before a rewind of ours.

They are found by their invocations. ADK's order of a session says nothing of them: in it an earlier rewind seems to
take them back, though they were said after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from gaia_memory.adk.sessions.event_mapping import turns_of
from gaia_memory.adk.sessions.event_pages import Part, pages
from gaia_memory.models import Mark, Turn

if TYPE_CHECKING:
    from google.adk.events.event import Event

    from gaia_memory.adk.sessions.event_pages import StoredEvents

_CLOSE_SECONDS = 0.01
"""How much before its turn an event may be stamped: databases round."""

_INVOCATIONS_A_QUERY = 100


async def late_turns(
    events: StoredEvents,
    began: Mapping[str, float],
    *,
    border: float,
    ours: str,
    turns_before: int,
    zone: tzinfo = UTC,
) -> tuple[Turn, ...]:
    """Return the turns of invocations, said since each `began`, whose first event lies at or before `border`.

    The others are met by whoever reads on from there. A rewind of a person that goes back to one of them takes it
    back; our own ones, which carry `ours` in the state, were made before it.
    """
    since = Part(after=Mark(min(began.values()) - _CLOSE_SECONDS, ""))
    said = [event for event in await _of(events, since, sorted(began)) if _is_since(event, began)]
    first: dict[str, float] = {}
    for event in said:
        first[event.invocation_id] = min(event.timestamp, first.get(event.invocation_id, event.timestamp))
    late = {invocation for invocation, at in first.items() if at <= border}
    kept = [event for event in said if event.invocation_id in late]
    async for page in pages(events, replace(since, carrying="rewind")):
        kept += [event for event in page if _target(event) in late and ours not in event.actions.state_delta]
    return turns_of(sorted(kept, key=lambda event: event.timestamp), turns_before=turns_before, zone=zone)


async def _of(events: StoredEvents, part: Part, invocations: list[str]) -> list[Event]:
    found: list[Event] = []
    for start in range(0, len(invocations), _INVOCATIONS_A_QUERY):
        some = replace(part, invocations=invocations[start : start + _INVOCATIONS_A_QUERY])
        async for page in pages(events, some):
            found += page
    return found


def _is_since(event: Event, began: Mapping[str, float]) -> bool:
    return event.timestamp >= began[event.invocation_id] - _CLOSE_SECONDS


def _target(event: Event) -> str | None:
    return event.actions.rewind_before_invocation_id
