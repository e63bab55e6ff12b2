"""A transcript as a stream of turns: what counts is found out first, then the events are read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from gaia_memory.adk.sessions.event_mapping import LEFT_OUT, UNSTAMPED, Breath, Breaths, Turning, mark_of, stamps_of
from gaia_memory.adk.sessions.event_pages import Part, pages
from gaia_memory.models import Mark, Turn

if TYPE_CHECKING:
    from google.adk.events.event import Event

    from gaia_memory.adk.sessions.event_pages import StoredEvents

LEAD_EVENTS = 50
"""Events ahead of the first unread one that are looked at: it may reply to them, or be said in a breath with them."""

_INVOCATIONS_A_QUERY = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """What was said in a part of a transcript, read anew whenever it is iterated, and the little just ahead of it.

    `parts` and `lead` are what no rewind took back; where the lead `is_cut`, something was said before it. `stamps`
    are those of the breaths with any.
    """

    events: StoredEvents
    turns_before: int
    zone: tzinfo = UTC
    parts: Sequence[Part] = ()
    lead: Sequence[Event] = ()
    is_cut: bool = False
    stamps: Mapping[Breath, frozenset[str]] = field(default_factory=dict)

    @classmethod
    async def of(
        cls, events: StoredEvents, *, after: Mark | None, end: Mark | None, turns_before: int, zone: tzinfo = UTC
    ) -> Reading:
        """Find out what counts behind `after` up to `end`; turns are numbered from `turns_before` + 1."""
        if end is None or end == after:
            return cls(events, turns_before, zone)
        parts, first = await live_parts(events, Part(after=after, until=end))
        live, is_cut = await _lead(events, after, first)
        stamps = await _stamps(events, live, parts)
        return cls(events, turns_before, zone, parts=parts, lead=live, is_cut=is_cut, stamps=stamps)

    async def __aiter__(self) -> AsyncIterator[Turn]:
        """Yield the turns of the part, a page in memory at a time."""
        turning, breaths = Turning(self.turns_before, self.zone), Breaths()
        invocations = {invocation for invocation, _ in self.stamps}
        for event in self.lead:
            self._stamps_of(event, breaths, invocations)
        for part in self.parts:
            async for page in pages(self.events, part):
                for event in page:
                    turn = turning.add(event, self._stamps_of(event, breaths, invocations))
                    if turn is not None:
                        yield turn
        rest = turning.rest()
        if rest is not None:
            yield rest

    def before(self) -> tuple[Turn, ...]:
        """Return the turns of the lead, as far as it is known that they may be shown."""
        turning, breaths = Turning(self.turns_before - len(self.lead), self.zone), Breaths()
        turns = []
        for event in self.lead:
            breath = breaths.of(event)
            # What was said before the lead may have been private.
            is_open = self.is_cut and not breath[1]
            stamps = stamps_of(event) | self.stamps.get(breath, UNSTAMPED)
            turns.append(turning.add(event, LEFT_OUT if is_open else stamps))
        return tuple(turn for turn in [*turns, turning.rest()] if turn is not None)

    def _stamps_of(self, event: Event, breaths: Breaths, invocations: set[str]) -> frozenset[str]:
        """Return the stamps of the event's breath; of the other invocations nothing has to be remembered."""
        if event.invocation_id not in invocations:
            return stamps_of(event)
        return stamps_of(event) | self.stamps.get(breaths.of(event), UNSTAMPED)


async def _lead(events: StoredEvents, after: Mark | None, first: Part | None) -> tuple[list[Event], bool]:
    """Return what no rewind took back of the events just ahead, and whether there are more before them."""
    if after is None or first is None:
        return [], False
    ahead = Part(until=after, before=first.before)
    lead = await events.select(ahead, limit=LEAD_EVENTS + 1, newest=True)
    is_cut = len(lead) > LEAD_EVENTS
    if is_cut:
        ahead = replace(ahead, after=mark_of(lead.pop()))
    if not any(event.actions.rewind_before_invocation_id for event in lead):
        return lead[::-1], is_cut
    parts, _ = await live_parts(events, ahead)
    return [event for part in parts async for page in pages(events, part) for event in page], is_cut


async def live_parts(events: StoredEvents, part: Part) -> tuple[list[Part], Part | None]:
    """Return what no rewind in `part` took back, in order, and the first of it unless all before it is gone too."""
    found: list[Part] = []
    rest: Part | None = part
    while rest is not None and (rewind := await _last_rewind(events, rest)) is not None:
        at = mark_of(rewind)
        if at != rest.until:
            found.append(replace(rest, after=at))
        first = await _first_of(events, rewind.actions.rewind_before_invocation_id or "", at)
        rest = None if first is None else replace(rest, until=None, before=first)
    if rest is not None:
        found.append(rest)
    return found[::-1], rest


async def _last_rewind(events: StoredEvents, part: Part) -> Event | None:
    part = replace(part, carrying="rewind")
    while last := await events.select(part, limit=1, newest=True):
        if last[0].actions.rewind_before_invocation_id:
            return last[0]
        part = replace(part, before=mark_of(last[0]))
    return None


async def _first_of(events: StoredEvents, invocation: str, rewind: Mark) -> Mark | None:
    """Return to where a rewind goes back: itself where the invocation comes later, None where it is not known."""
    its = Part(invocations=[invocation])
    first = await events.select(replace(its, before=rewind), limit=1)
    if first:
        return mark_of(first[0])
    return rewind if await events.select(its, limit=1) else None


async def _stamps(events: StoredEvents, lead: Sequence[Event], parts: Sequence[Part]) -> dict[Breath, frozenset[str]]:
    """Return the stamps of the breaths with any; only the events of their invocations are read."""
    invocations = {event.invocation_id for event in lead if stamps_of(event)}
    for part in parts:
        async for page in pages(events, replace(part, carrying="stamp")):
            invocations |= {event.invocation_id for event in page if stamps_of(event)}
    invocations.discard("")
    ordered = sorted(invocations)
    stamps: dict[Breath, frozenset[str]] = {}
    for start in range(0, len(ordered), _INVOCATIONS_A_QUERY):
        some = ordered[start : start + _INVOCATIONS_A_QUERY]
        breaths = Breaths()
        for event in lead:
            if event.invocation_id in some:
                breaths.of(event)
        for part in parts:
            async for page in pages(events, replace(part, invocations=some)):
                for event in page:
                    breaths.of(event)
        stamps |= breaths.stamps
    return stamps
