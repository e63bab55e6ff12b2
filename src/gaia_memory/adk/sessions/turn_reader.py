"""Reads a transcript as a stream of turns: find the live parts first, then read their events page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Literal, Protocol

from gaia_memory.adk.sessions.event_mapping import (
    NO_KEYS,
    UNLEARNED_KEYS,
    MessageGroup,
    MessageGroups,
    TurnBuilder,
    metadata_keys,
    position_of,
)
from gaia_memory.models import EventPosition, Turn

if TYPE_CHECKING:
    from google.adk.events.event import Event


MAX_LEAD_EVENTS = 50
"""Events read before the first unread one: it may reply to them, or belong to their message group."""

_MAX_INVOCATIONS_PER_QUERY = 100

PAGE_SIZE = 100
"""Events read at once."""

EventMarker = Literal["rewind", "stamp"]
"""A mark of an event that affects others: it rewinds them, or says that they are not to be learned."""


@dataclass(frozen=True, slots=True)
class TurnReader:
    """The turns of a part of a transcript, read again at each iteration, and the events just before it (the lead).

    `ranges` and `lead` contain no rewound events; with `is_lead_truncated`, there are events before the lead.
    `keys_by_group` contains the metadata keys of the message groups with any.
    """

    events: StoredEvents
    turns_before: int
    zone: tzinfo = UTC
    ranges: Sequence[EventRange] = ()
    lead: Sequence[Event] = ()
    is_lead_truncated: bool = False
    keys_by_group: Mapping[MessageGroup, frozenset[str]] = field(default_factory=dict)

    @classmethod
    async def create(
        cls,
        events: StoredEvents,
        *,
        after: EventPosition | None,
        end: EventPosition | None,
        turns_before: int,
        zone: tzinfo = UTC,
    ) -> TurnReader:
        """Find the live events after `after` up to `end`; turns are numbered from `turns_before` + 1."""
        if end is None or end == after:
            return cls(events, turns_before, zone)
        ranges, first = await live_ranges(events, EventRange(after=after, until=end))
        lead, is_truncated = await _read_lead(events, after, first)
        keys_by_group = await _collect_keys(events, lead, ranges)
        return cls(
            events,
            turns_before,
            zone,
            ranges=ranges,
            lead=lead,
            is_lead_truncated=is_truncated,
            keys_by_group=keys_by_group,
        )

    async def __aiter__(self) -> AsyncIterator[Turn]:
        """Yield the turns of the part, with one page in memory at a time."""
        builder, groups = TurnBuilder(self.turns_before, self.zone), MessageGroups()
        invocations = {invocation for invocation, _ in self.keys_by_group}
        for event in self.lead:
            self._keys_of(event, groups, invocations)
        for event_range in self.ranges:
            async for page in pages(self.events, event_range):
                for event in page:
                    turn = builder.add(event, self._keys_of(event, groups, invocations))
                    if turn is not None:
                        yield turn
        last_turn = builder.finish(is_end=True)
        if last_turn is not None:
            yield last_turn

    def lead_turns(self) -> tuple[Turn, ...]:
        """Return the turns of the lead, without messages that may be private."""
        builder, groups = TurnBuilder(self.turns_before - len(self.lead), self.zone), MessageGroups()
        turns = []
        for event in self.lead:
            group = groups.group_of(event)
            # The group began before the lead, and may have been private.
            may_be_private = self.is_lead_truncated and not group[1]
            keys = metadata_keys(event) | self.keys_by_group.get(group, NO_KEYS)
            turns.append(builder.add(event, UNLEARNED_KEYS if may_be_private else keys))
        return tuple(turn for turn in [*turns, builder.finish()] if turn is not None)

    def _keys_of(self, event: Event, groups: MessageGroups, invocations: set[str]) -> frozenset[str]:
        """Return the metadata keys of the event's group; only invocations with keys are tracked."""
        if event.invocation_id not in invocations:
            return metadata_keys(event)
        return metadata_keys(event) | self.keys_by_group.get(groups.group_of(event), NO_KEYS)


async def _read_lead(
    events: StoredEvents, after: EventPosition | None, first: EventRange | None
) -> tuple[list[Event], bool]:
    """Return the live events just before the part, and whether there are more before them."""
    if after is None or first is None:
        return [], False
    lead_range = EventRange(until=after, before=first.before)
    lead = await events.select(lead_range, limit=MAX_LEAD_EVENTS + 1, newest=True)
    is_truncated = len(lead) > MAX_LEAD_EVENTS
    if is_truncated:
        lead_range = replace(lead_range, after=position_of(lead.pop()))
    if not any(event.actions.rewind_before_invocation_id for event in lead):
        return lead[::-1], is_truncated
    ranges, _ = await live_ranges(events, lead_range)
    return [
        event for event_range in ranges async for page in pages(events, event_range) for event in page
    ], is_truncated


async def live_ranges(events: StoredEvents, event_range: EventRange) -> tuple[list[EventRange], EventRange | None]:
    """Return the live parts of `event_range` in order, and the first one unless everything before it is rewound."""
    found: list[EventRange] = []
    remaining: EventRange | None = event_range
    while remaining is not None and (rewind := await _last_rewind(events, remaining)) is not None:
        rewind_position = position_of(rewind)
        if rewind_position != remaining.until:
            found.append(replace(remaining, after=rewind_position))
        first = await _rewind_target(events, rewind.actions.rewind_before_invocation_id or "", rewind_position)
        remaining = None if first is None else replace(remaining, until=None, before=first)
    if remaining is not None:
        found.append(remaining)
    return found[::-1], remaining


async def _last_rewind(events: StoredEvents, event_range: EventRange) -> Event | None:
    event_range = replace(event_range, carrying="rewind")
    while last := await events.select(event_range, limit=1, newest=True):
        if last[0].actions.rewind_before_invocation_id:
            return last[0]
        event_range = replace(event_range, before=position_of(last[0]))
    return None


async def _rewind_target(events: StoredEvents, invocation: str, rewind: EventPosition) -> EventPosition | None:
    """Return the target of a rewind: itself if the invocation comes later, None if there is no such invocation."""
    invocation_range = EventRange(invocations=[invocation])
    first = await events.select(replace(invocation_range, before=rewind), limit=1)
    if first:
        return position_of(first[0])
    return rewind if await events.select(invocation_range, limit=1) else None


async def _collect_keys(
    events: StoredEvents, lead: Sequence[Event], ranges: Sequence[EventRange]
) -> dict[MessageGroup, frozenset[str]]:
    """Return the metadata keys of the message groups with any; only events of their invocations are read."""
    invocations = {event.invocation_id for event in lead if metadata_keys(event)}
    for event_range in ranges:
        async for page in pages(events, replace(event_range, carrying="stamp")):
            invocations |= {event.invocation_id for event in page if metadata_keys(event)}
    invocations.discard("")
    ordered = sorted(invocations)
    keys_by_group: dict[MessageGroup, frozenset[str]] = {}
    for start in range(0, len(ordered), _MAX_INVOCATIONS_PER_QUERY):
        batch = ordered[start : start + _MAX_INVOCATIONS_PER_QUERY]
        groups = MessageGroups()
        for event in lead:
            if event.invocation_id in batch:
                groups.group_of(event)
        for event_range in ranges:
            async for page in pages(events, replace(event_range, invocations=batch)):
                for event in page:
                    groups.group_of(event)
        keys_by_group |= groups.keys_by_group
    return keys_by_group


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
