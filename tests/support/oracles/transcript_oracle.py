"""The turns to learn from a completely loaded session, derived from the rules alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from google.adk.events.event import Event

from gaia_memory.adk.sessions.event_mapping import UNLEARNED_KEYS, UNMARKED_KEY, message_of, metadata_keys
from gaia_memory.models import EventPosition, Message, Turn


@dataclass(frozen=True)
class TranscriptOracle:
    """The events of a session in the order of its service, read after a mark.

    In the `lookback_events` events before those, a stamp still counts; they are shown as context.
    """

    events: Sequence[Event]
    mark: EventPosition | None
    lookback_events: int

    @cached_property
    def start_index(self) -> int:
        """The index of the first event after the mark."""
        if self.mark is None:
            return 0
        indices = [place for place, event in enumerate(self.events) if event.id == self.mark.event_id]
        return indices[0] + 1 if indices else 0

    @property
    def end(self) -> EventPosition | None:
        """The position of the last event."""
        return _mark(self.events[-1]) if self.start_index < len(self.events) else self.mark

    def turns(self, *, turns_before: int) -> list[Turn]:
        """Return the turns after the mark; a turn begins with a message of the user."""
        turns: list[Turn] = []
        for place in self.live_indices:
            if place < self.start_index:
                continue
            message = self._message(place)
            if message is not None and (message.role == "user" or not turns):
                turns.append(Turn(seq=turns_before + len(turns) + 1, messages=(message,), end=self.end))
            elif message is not None:
                turns[-1] = replace(turns[-1], messages=(*turns[-1].messages, message))
            if turns:
                turns[-1] = replace(turns[-1], end=_mark(self.events[place]))
        if (
            turns
            and turns[-1].messages[-1].role == "user"
            and turns[-1].messages[-1].event_id == turns[-1].end.event_id
        ):
            *before, last = turns[-1].messages
            turns[-1] = replace(turns[-1], messages=(*before, replace(last, may_be_private=True)))
        return turns

    def context_messages(self) -> list[Message]:
        """Return the context messages, without turns that began before it: their first words may be private."""
        if self.start_index == len(self.events):
            return []
        messages = []
        asked: set[str] = set()
        for place in self.live_indices:
            if place not in self._context_range:
                continue
            invocation = self.events[place].invocation_id
            if _is_user_message(self.events[place]):
                asked.add(invocation)
            is_out_of_sight = self._context_range.start > 0 and invocation and invocation not in asked
            if not is_out_of_sight and (message := self._message(place)):
                messages.append(message)
        return messages

    def _message(self, place: int) -> Message | None:
        group = self._message_groups[place]
        seen = [other for other in self.live_indices if other in self._context_range or other >= self.start_index]
        stamps = {
            stamp
            for other in seen
            if self._message_groups[other] == group
            for stamp in metadata_keys(self.events[other])
        }
        message = None if stamps & UNLEARNED_KEYS else message_of(self.events[place])
        return message and replace(message, may_be_private=UNMARKED_KEY in stamps)

    @cached_property
    def live_indices(self) -> list[int]:
        """The indices of the events in force."""
        return self._surviving_indices(since=0)

    @cached_property
    def _context_range(self) -> range:
        # A rewind after the mark that takes back events before it leaves only the start of the session.
        stop = sum(place < self.start_index for place in self._surviving_indices(since=self.start_index))
        return range(max(0, stop - self.lookback_events), stop)

    def _surviving_indices(self, *, since: int) -> list[int]:
        """Return the events in force, ignoring rewinds before index `since`; a rewind restores an earlier state."""
        first: dict[str, int] = {}
        for place, event in enumerate(self.events):
            first.setdefault(event.invocation_id, place)
        snapshots: list[list[int]] = [[]]
        for place, event in enumerate(self.events):
            target = event.actions.rewind_before_invocation_id
            is_rewind = target and place >= since
            snapshots.append(
                snapshots[min(place, first.get(target or "", 0))] if is_rewind else [*snapshots[-1], place]
            )
        return snapshots[-1]

    @cached_property
    def _message_groups(self) -> dict[int, tuple[str, int]]:
        """The group of each event: an invocation, up to the user's next message in it."""
        asked: dict[str, int] = {}
        groups = {}
        for place in self.live_indices:
            event = self.events[place]
            asked[event.invocation_id] = asked.get(event.invocation_id, 0) + _is_user_message(event)
            groups[place] = (event.invocation_id, asked[event.invocation_id] if event.invocation_id else place)
        return groups


def _mark(event: Event) -> EventPosition:
    return EventPosition(event.timestamp, event.id)


def _is_user_message(event: Event) -> bool:
    is_spoken = event.content is None and event.input_transcription is not None
    return event.author == "user" and (is_spoken or bool(event.content)) and not event.get_function_responses()
