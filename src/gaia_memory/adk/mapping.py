"""ADK events as turns: what the person and the agent said to each other, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gaia_memory.models import Mark, Message, Role, Turn
from gaia_memory.sessions.window import live_places

if TYPE_CHECKING:
    from google.adk.events.event import Event

COMMAND_STAMP = "gaia:command"
"""Key in an event's custom metadata: part of a slash command; neither replayed nor learned."""

PRIVATE_STAMP = "gaia:private"
"""Key in an event's custom metadata: part of a private turn; replayed, never learned."""

OFF_STAMP = "gaia:off"
"""Key in an event's custom metadata: part of a turn while memory was off; replayed, never learned."""

REQUESTS_TO_THE_USER = frozenset({"adk_request_credential", "adk_request_confirmation", "adk_request_input"})
"""Calls with which ADK itself asks the person for something; their text is no talk."""

_CUT_FOR_LENGTH = "MAX_TOKENS"
"""ADK's error code of a streamed answer that is too long; the person read what there is of it."""

_USER_ROLES = frozenset({None, "", "user"})
_AGENT_ROLES = frozenset({None, "", "model", "assistant"})
_NO_SPEAKERS = frozenset({"", "system", "tool", "function", "developer"})


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


def turns_of(events: Sequence[Event], *, turns_before: int, skipped: Collection[str] = ()) -> tuple[Turn, ...]:
    """Return the talk in `events` as turns numbered from `turns_before` + 1.

    A turn begins where the person speaks; what an agent says before that is a turn of its own. Left out are
    rewound, partial and failed events, commands, turns that were private or held while memory was off, other
    branches, thoughts, calls, responses, files, whatever is neither the person's nor an agent's, and the events
    whose ids are in `skipped`.
    """
    turns: list[Turn] = []
    messages: list[Message] = []
    ended: Mark | None = None
    live = live_events(events)
    stamped = stamped_places(live, COMMAND_STAMP, PRIVATE_STAMP, OFF_STAMP)
    for place, event in enumerate(live):
        is_left_out = event.id in skipped or place in stamped
        message = None if is_left_out else message_of(event)
        if message is not None and message.role == "user" and messages:
            turns.append(_turn(messages, ended, turns_before + len(turns) + 1))
            messages = []
        if message is not None:
            messages.append(message)
        ended = mark_of(event)
    if messages:
        turns.append(_turn(messages, ended, turns_before + len(turns) + 1))
    return tuple(turns)


def message_of(event: Event) -> Message | None:
    """Return what was said in an event, or None when it holds no talk."""
    if not _is_talk(event):
        return None
    role = _role(event)
    text = _text(event)
    if role is None or not text.strip():
        return None
    return Message(
        role=role,
        text=text,
        said_at=datetime.fromtimestamp(event.timestamp, UTC),
        event_id=event.id,
        speaker=event.author,
    )


def is_stamped(event: Event, *stamps: str) -> bool:
    """Say whether an event carries one of our stamps."""
    return any((event.custom_metadata or {}).get(stamp) for stamp in stamps)


def stamped_places(events: Sequence[Event], *stamps: str) -> set[int]:
    """Return the places of events that carry one of our stamps, and of those said in the same breath.

    ADK does not put a stamp on a message that another plugin replaced. What else is in the invocation may be talk:
    a message that comes while a task waits for the person joins the task's invocation.
    """
    asked: Counter[str] = Counter()
    exchanges: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    stamped: set[tuple[str, int]] = set()
    for place, event in enumerate(events):
        # Without an invocation an event belongs to no other.
        invocation = event.invocation_id or f"\n{place}"
        asked[invocation] += event.author == "user" and bool(event.content) and not event.get_function_responses()
        exchange = (invocation, asked[invocation])
        exchanges[exchange].append(place)
        if is_stamped(event, *stamps):
            stamped.add(exchange)
    return {place for exchange in stamped for place in exchanges[exchange]}


def _turn(messages: Iterable[Message], ended: Mark | None, seq: int) -> Turn:
    said = tuple(messages)
    last = said[-1]
    return Turn(seq=seq, messages=said, ended=ended or Mark(last.said_at.timestamp(), last.event_id))


def _is_talk(event: Event) -> bool:
    return not (
        event.partial
        or (event.error_code and event.error_code != _CUT_FOR_LENGTH)
        or event.actions.compaction
        or event.branch
        or event.isolation_scope
        or is_stamped(event, COMMAND_STAMP, PRIVATE_STAMP)
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
