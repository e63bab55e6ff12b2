"""ADK events as turns: what the person and the agent said to each other, and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from gaia_memory.models import Mark, Message, Role, Turn, zone_named
from gaia_memory.sessions.replay_window import live_places

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

COMMAND_STAMP = "gaia:command"
"""Key in an event's custom metadata: part of a slash command; neither replayed nor learned."""

PRIVATE_STAMP = "gaia:private"
"""Key in an event's custom metadata: part of a private turn; replayed, never learned."""

UNMARKED_STAMP = "gaia:unmarked"
"""Key in an event's custom metadata: part of a turn for which it could not be looked up whether it is private."""

OFF_STAMP = "gaia:off"
"""Key in an event's custom metadata: part of a turn while memory was off; replayed, never learned."""

LEFT_OUT = frozenset({COMMAND_STAMP, PRIVATE_STAMP, OFF_STAMP})
"""What carries one of these is not learned, nor what is said in the same breath."""

TIME_ZONE = "user:time_zone"
"""Key in a session's state: the IANA name of the time zone the person is in."""

REQUESTS_TO_THE_USER = frozenset({"adk_request_credential", "adk_request_confirmation", "adk_request_input"})
"""Calls with which ADK itself asks the person for something; their text is no talk."""

_CUT_FOR_LENGTH = "MAX_TOKENS"
"""ADK's error code of a streamed answer that is too long; the person read what there is of it."""

Breath = tuple[str, int | str]
"""An invocation with the number of what the person said last in it, or no invocation with an event."""

UNSTAMPED: frozenset[str] = frozenset()
_USER_ROLES = frozenset({None, "", "user"})
_AGENT_ROLES = frozenset({None, "", "model", "assistant"})
_NO_SPEAKERS = frozenset({"", "system", "tool", "function", "developer"})


async def zone_of(session: Session) -> tzinfo:
    """Return where the person of a session is, as its state says; UTC, which says nothing, where it does not."""
    name = session.state.get(TIME_ZONE)
    if isinstance(name, str) and name:
        with suppress(ValueError):
            return await asyncio.to_thread(zone_named, name)
    return UTC


def mark_of(event: Event) -> Mark:
    """Return an event's place in its transcript."""
    return Mark(event.timestamp, event.id)


def live_events(events: Sequence[Event]) -> list[Event]:
    """Return the events that no rewind took back, in order.

    A rewind to an invocation that is not among them takes everything before it back: the invocation was
    before the part that was loaded.
    """
    places = live_places((event.invocation_id, event.actions.rewind_before_invocation_id or None) for event in events)
    return [events[place] for place in places]


def turns_of(events: Sequence[Event], *, turns_before: int, zone: tzinfo = UTC) -> tuple[Turn, ...]:
    """Return the talk in `events` as turns numbered from `turns_before` + 1, said in `zone` where that is known.

    A turn begins where the person speaks; what an agent says before that is a turn of its own. Left out are
    rewound, partial and failed events, commands, turns that were private or held while memory was off, other
    branches, thoughts, calls, responses, files, and whatever is neither the person's nor an agent's.
    """
    live = live_events(events)
    stamps = Breaths(live).stamps
    turning, breaths = Turning(turns_before, zone), Breaths()
    turns = [turning.add(event, stamps.get(breaths.of(event), UNSTAMPED)) for event in live]
    return tuple(turn for turn in [*turns, turning.rest()] if turn is not None)


class Turning:
    """Makes turns of events that are told one by one: those that no rewind took back, in order."""

    def __init__(self, turns_before: int, zone: tzinfo = UTC) -> None:
        """Number the turns from `turns_before` + 1, said in `zone`."""
        self._seq = turns_before
        self._zone = zone
        self._messages: list[Message] = []
        self._ended: Mark | None = None

    def add(self, event: Event, stamps: frozenset[str]) -> Turn | None:
        """Return the turn that is over with this event, which is said in a breath with these stamps."""
        over = None
        message = None if stamps & LEFT_OUT else message_of(event, self._zone)
        if message is not None:
            if message.role == "user":
                over = self.rest()
            self._messages.append(replace(message, may_be_private=UNMARKED_STAMP in stamps))
        self._ended = mark_of(event)
        return over

    def rest(self) -> Turn | None:
        """Return the turn that is not over."""
        if not self._messages or self._ended is None:
            return None
        said, self._messages = tuple(self._messages), []
        self._seq += 1
        return Turn(seq=self._seq, messages=said, ended=self._ended)


def message_of(event: Event, zone: tzinfo = UTC) -> Message | None:
    """Return what was said in an event, or None when it holds no talk; `zone` is where it was said."""
    if not _is_talk(event):
        return None
    role = _role(event)
    text = _text(event)
    if role is None or not text.strip():
        return None
    return Message(
        role=role,
        text=text,
        said_at=datetime.fromtimestamp(event.timestamp, zone),
        event_id=event.id,
        speaker=event.author,
    )


def stamps_of(event: Event) -> frozenset[str]:
    """Return our stamps that an event carries itself."""
    carried = event.custom_metadata or {}
    return frozenset(stamp for stamp in (*LEFT_OUT, UNMARKED_STAMP) if carried.get(stamp))


def stamped_places(events: Sequence[Event], stamp: str) -> set[int]:
    """Return the places of events that carry one of our stamps, and of those said in the same breath."""
    stamps, breaths = Breaths(events).stamps, Breaths()
    return {place for place, event in enumerate(events) if stamp in stamps.get(breaths.of(event), UNSTAMPED)}


class Breaths:
    """Tells in which breath each event of a talk is said: in one invocation, up to what the person says next.

    ADK does not put a stamp on a message that another plugin replaced. What else is in the invocation may be talk:
    a message that comes while a task waits for the person joins the task's invocation.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Begin where a talk begins; `stamps` are those of the breaths with any, as far as events were told."""
        self.stamps: dict[Breath, frozenset[str]] = {}
        self._asked: Counter[str] = Counter()
        for event in events:
            self.of(event)

    def of(self, event: Event) -> Breath:
        """Return the breath of the next event; number 0 of an invocation began before the events that were told."""
        breath: Breath = ("", event.id)
        if event.invocation_id:
            asks = event.author == "user" and bool(event.content) and not event.get_function_responses()
            self._asked[event.invocation_id] += asks
            breath = (event.invocation_id, self._asked[event.invocation_id])
        stamps = stamps_of(event)
        if stamps:
            self.stamps[breath] = self.stamps.get(breath, UNSTAMPED) | stamps
        return breath


def _is_talk(event: Event) -> bool:
    return not (
        event.partial
        or (event.error_code and event.error_code != _CUT_FOR_LENGTH)
        or event.actions.compaction
        or event.branch
        or event.isolation_scope
        or any(call.name in REQUESTS_TO_THE_USER for call in event.get_function_calls())
    )


def _role(event: Event) -> Role | None:
    role = event.content.role if event.content else None
    if event.author in _NO_SPEAKERS:
        return None
    if event.author == "user":
        return "user" if role in _USER_ROLES and not event.get_function_responses() else None
    return "assistant" if role in _AGENT_ROLES else None


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    written = [part.text for part in parts if part.text and not part.thought]
    spoken = [
        transcription.text
        for transcription in (event.input_transcription, event.output_transcription)
        if transcription is not None and transcription.text and transcription.finished is not False
    ]
    # A model cuts its answer anywhere; the parts of a person's message are things said one after the other.
    return ("\n" if event.author == "user" or not written else "").join(written or spoken)
