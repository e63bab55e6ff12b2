"""What is to be learned of a session that was loaded as a whole, worked out from the rules alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from google.adk.events.event import Event

from gaia_memory.adk.sessions.event_mapping import LEFT_OUT, UNMARKED_STAMP, message_of, stamps_of
from gaia_memory.models import Mark, Message, Turn


@dataclass(frozen=True)
class WholeReading:
    """The events of a session in the order of its service, read behind a mark.

    `look_back` are the events ahead of what is read in which a stamp still counts, and that are shown as context.
    """

    events: Sequence[Event]
    mark: Mark | None
    look_back: int

    @cached_property
    def start(self) -> int:
        """The place of the first event behind the mark."""
        if self.mark is None:
            return 0
        places = [place for place, event in enumerate(self.events) if event.id == self.mark.event_id]
        return places[0] + 1 if places else 0

    @property
    def end(self) -> Mark | None:
        """The mark of the last event."""
        return _mark(self.events[-1]) if self.start < len(self.events) else self.mark

    def turns(self, *, turns_before: int) -> list[Turn]:
        """Return what was said behind the mark; a turn begins where the person speaks."""
        turns: list[Turn] = []
        for place in self.live:
            if place < self.start:
                continue
            message = self._message(place)
            if message is not None and (message.role == "user" or not turns):
                turns.append(Turn(seq=turns_before + len(turns) + 1, messages=(message,), ended=self.end))
            elif message is not None:
                turns[-1] = replace(turns[-1], messages=(*turns[-1].messages, message))
            if turns:
                turns[-1] = replace(turns[-1], ended=_mark(self.events[place]))
        return turns

    def before(self) -> list[Message]:
        """Return what may be shown of the events just ahead; whose first words are out of sight may be private."""
        if self.start == len(self.events):
            return []
        messages = []
        asked: set[str] = set()
        for place in self.live:
            if place not in self._ahead:
                continue
            invocation = self.events[place].invocation_id
            if _asks(self.events[place]):
                asked.add(invocation)
            is_out_of_sight = self._ahead.start > 0 and invocation and invocation not in asked
            if not is_out_of_sight and (message := self._message(place)):
                messages.append(message)
        return messages

    def _message(self, place: int) -> Message | None:
        breath = self._breaths[place]
        seen = [other for other in self.live if other in self._ahead or other >= self.start]
        stamps = {stamp for other in seen if self._breaths[other] == breath for stamp in stamps_of(self.events[other])}
        message = None if stamps & LEFT_OUT else message_of(self.events[place])
        return message and replace(message, may_be_private=UNMARKED_STAMP in stamps)

    @cached_property
    def live(self) -> list[int]:
        """The places of what holds now."""
        return self._held(since=0)

    @cached_property
    def _ahead(self) -> range:
        # What a rewind behind the mark takes back ahead of it leaves a beginning of the session.
        stop = sum(place < self.start for place in self._held(since=self.start))
        return range(max(0, stop - self.look_back), stop)

    def _held(self, *, since: int) -> list[int]:
        """Return what holds when rewinds count from a place on: each puts back what held before its target began."""
        first: dict[str, int] = {}
        for place, event in enumerate(self.events):
            first.setdefault(event.invocation_id, place)
        held: list[list[int]] = [[]]
        for place, event in enumerate(self.events):
            target = event.actions.rewind_before_invocation_id
            is_rewind = target and place >= since
            held.append(held[min(place, first.get(target or "", 0))] if is_rewind else [*held[-1], place])
        return held[-1]

    @cached_property
    def _breaths(self) -> dict[int, tuple[str, int]]:
        """The breath of each event: an invocation, up to what the person says next in it."""
        asked: dict[str, int] = {}
        breaths = {}
        for place in self.live:
            event = self.events[place]
            asked[event.invocation_id] = asked.get(event.invocation_id, 0) + _asks(event)
            breaths[place] = (event.invocation_id, asked[event.invocation_id] if event.invocation_id else place)
        return breaths


def _mark(event: Event) -> Mark:
    return Mark(event.timestamp, event.id)


def _asks(event: Event) -> bool:
    return event.author == "user" and bool(event.content) and not event.get_function_responses()
