"""Reads the events of one session page by page: a long conversation is never in memory as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from gaia_memory.adk.sessions.event_mapping import metadata_keys, position_of
from gaia_memory.models import EventPosition

if TYPE_CHECKING:
    from google.adk.events.event import Event

PAGE_SIZE = 100
"""Events read at once."""

EventMarker = Literal["rewind", "stamp"]
"""A mark of an event that affects others: it rewinds them, or says that they are not to be learned."""


@dataclass(frozen=True, slots=True)
class EventRange:
    """A part of a transcript: after `after`, up to and including `until`, and before `before`, as far as given.

    With `carrying` it contains all events with that mark, and maybe others; with `invocations`, only their events.
    """

    after: EventPosition | None = None
    until: EventPosition | None = None
    before: EventPosition | None = None
    carrying: EventMarker | None = None
    invocations: Collection[str] | None = None


class StoredEvents(Protocol):
    """The events of one session in the order of its service."""

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return the oldest events of a part, or with `newest` the newest ones in reverse order."""


async def pages(events: StoredEvents, event_range: EventRange) -> AsyncIterator[list[Event]]:
    """Yield the events of a part, oldest first, page by page."""
    while True:
        page = await events.select(event_range, limit=PAGE_SIZE)
        if page:
            yield page
        if len(page) < PAGE_SIZE:
            return
        event_range = replace(event_range, after=position_of(page[-1]))


class LoadedEvents:
    """The events of a session that was loaded as a whole."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._indices = {event.id: place for place, event in enumerate(events)}

    async def select(self, event_range: EventRange, *, limit: int, newest: bool = False) -> list[Event]:
        """Return events of a part; `limit` applies only with `newest`."""
        found: list[Event] = []
        indices = self._index_range(event_range)
        for index in reversed(indices) if newest else indices:
            event = self._events[index]
            if (
                event_range.after is not None
                and event_range.after.event_id not in self._indices
                and event.timestamp <= event_range.after.timestamp
            ):
                continue
            if event_range.carrying is not None and not _has_marker(event, event_range.carrying):
                continue
            if event_range.invocations is None or event.invocation_id in event_range.invocations:
                found.append(event)
            if newest and len(found) == limit:
                break
        return found

    def _index_range(self, event_range: EventRange) -> range:
        first = 0 if event_range.after is None else self._indices.get(event_range.after.event_id, -1) + 1
        ends = [len(self._events)]
        if event_range.until is not None:
            ends.append(self._end_index(event_range.until))
        if event_range.before is not None:
            ends.append(self._indices.get(event_range.before.event_id, len(self._events)))
        return range(first, min(ends))

    def _end_index(self, mark: EventPosition) -> int:
        if mark.event_id in self._indices:
            return self._indices[mark.event_id] + 1
        later = (place for place, event in enumerate(self._events) if event.timestamp > mark.timestamp)
        return next(later, len(self._events))


def _has_marker(event: Event, marker: EventMarker) -> bool:
    return bool(event.actions.rewind_before_invocation_id) if marker == "rewind" else bool(metadata_keys(event))
