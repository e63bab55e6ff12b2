"""Maps ADK events to turns: the messages of the user and the agent, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from gaia_memory.models import DEFAULT_CONTEXT, EventPosition, Message, Role, Turn, load_time_zone
from gaia_memory.models.validation import is_label, raise_invalid
from gaia_memory.sessions.replay_window import live_indices
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

COMMAND_KEY = "gaia:command"
"""Key in an event's custom metadata: part of a slash command; neither replayed nor learned."""

PRIVATE_KEY = "gaia:private"
"""Key in an event's custom metadata: part of a private turn; replayed, never learned."""

UNMARKED_KEY = "gaia:unmarked"
"""Key in an event's custom metadata: part of a turn whose privacy could not be looked up."""

MEMORY_OFF_KEY = "gaia:off"
"""Key in an event's custom metadata: part of a turn that ran while memory was off; replayed, never learned."""

CLOCK_LAG_KEY = "gaia:clock_lag"
"""Key in an event's custom metadata: by how many seconds its time is later than the clock's, to sort after others."""

CONTEXT_KEY = "gaia:context"
"""Key in an event's custom metadata: the context that was active, unless it was `global`."""

CHANGES_KEY = "gaia:changes"
"""Metadata of the answer of a turn whose tools changed facts: what they did, without any text that was forgotten."""

UNLEARNED_KEYS = frozenset({COMMAND_KEY, PRIVATE_KEY, MEMORY_OFF_KEY})
"""An event with one of these keys is not learned, nor are the others of its message group."""

TIME_ZONE_KEY = "user:time_zone"
"""Key in a session's state: the IANA name of the user's time zone."""

USER_REQUEST_CALLS = frozenset({"adk_request_credential", "adk_request_confirmation", "adk_request_input"})
"""Calls with which ADK itself asks the user for something; their text is not part of the conversation."""

_MAX_TOKENS_ERROR_CODE = "MAX_TOKENS"
"""ADK's error code of a streamed answer that was cut off; the user has read its beginning."""

MessageGroup = tuple[str, int | str]
"""An invocation and the number of the latest user message in it, or an empty invocation and an event id."""

NO_KEYS: frozenset[str] = frozenset()
_USER_ROLES = frozenset({None, "", "user"})
_AGENT_ROLES = frozenset({None, "", "model", "assistant"})
_NON_SPEAKER_AUTHORS = frozenset({"", "system", "tool", "function", "developer"})


async def zone_of(session: Session) -> tzinfo:
    """Return the user's time zone from the session's state; UTC, which counts as unknown, if it has none."""
    name = session.state.get(TIME_ZONE_KEY)
    if isinstance(name, str) and name:
        with suppress(ValueError):
            return await run_in_thread(load_time_zone, name)
    return UTC


async def require_zone(name: object) -> tzinfo | None:
    """Return the time zone that a session's state names under `TIME_ZONE_KEY`; None for none.

    Raises:
        InvalidInputError: there is no such zone.
    """
    if not name:
        return None
    try:
        return await run_in_thread(load_time_zone, str(name))
    except ValueError:
        raise_invalid(TIME_ZONE_KEY, name, "the host sets it in the session state, such as Europe/Berlin")


def position_of(event: Event) -> EventPosition:
    """Return an event's position in its transcript."""
    return EventPosition(event.timestamp, event.id)


def said_at(event: Event) -> float:
    """Return the time on the clock when an event was created."""
    return event.timestamp - float((event.custom_metadata or {}).get(CLOCK_LAG_KEY, 0.0))


def live_events(events: Sequence[Event]) -> list[Event]:
    """Return the events that were not rewound, in order.

    A rewind to an invocation that is not among them rewinds everything before it: the invocation is before the loaded
    part.
    """
    indices = live_indices((event.invocation_id, event.actions.rewind_before_invocation_id or None) for event in events)
    return [events[place] for place in indices]


def turns_of(events: Sequence[Event], *, turns_before: int, zone: tzinfo = UTC) -> tuple[Turn, ...]:
    """Return the messages in `events` as turns numbered from `turns_before` + 1, with times in `zone`.

    A turn begins with a message of the user; agent messages before the first one form a turn of their own. Left out
    are rewound, partial and failed events, commands, private turns and those that ran while memory was off, what agents
    say to agents, thoughts, calls, responses, files, and everything that is neither the user's nor an agent's.
    """
    live = live_events(events)
    keys_by_group = MessageGroups(live).keys_by_group
    builder, groups = TurnBuilder(turns_before, zone), MessageGroups()
    turns = [builder.add(event, keys_by_group.get(groups.group_of(event), NO_KEYS)) for event in live]
    return tuple(turn for turn in [*turns, builder.finish()] if turn is not None)


class TurnBuilder:
    """Builds turns from events that are added one by one, in order and without the rewound ones."""

    def __init__(self, turns_before: int, zone: tzinfo = UTC) -> None:
        """Number the turns from `turns_before` + 1, with times in `zone`."""
        self._seq = turns_before
        self._zone = zone
        self._messages: list[Message] = []
        self._last_position: EventPosition | None = None

    def add(self, event: Event, keys: frozenset[str]) -> Turn | None:
        """Add an event, whose message group has these metadata keys; return the turn that it ends, if any."""
        finished_turn = None
        message = None if keys & UNLEARNED_KEYS else message_of(event, self._zone)
        if message is not None:
            if message.role == "user":
                finished_turn = self.finish()
            self._messages.append(replace(message, may_be_private=UNMARKED_KEY in keys))
        self._last_position = position_of(event)
        return finished_turn

    def finish(self, *, is_end: bool = False) -> Turn | None:
        """Return the turn so far and end it; None if it is empty.

        A message with nothing behind it may be private: ADK stores a text of a live session before it asks plugins.
        """
        if not self._messages or self._last_position is None:
            return None
        last = self._messages[-1]
        if is_end and last.role == "user" and last.event_id == self._last_position.event_id:
            self._messages[-1] = replace(last, may_be_private=True)
        messages, self._messages = tuple(self._messages), []
        self._seq += 1
        return Turn(seq=self._seq, messages=messages, end=self._last_position)


def message_of(event: Event, zone: tzinfo = UTC) -> Message | None:
    """Return the message of an event, with its time in `zone`; None if the event has no message."""
    if not _is_conversation(event):
        return None
    role = _role(event)
    text = _text(event)
    if role is None or not text.strip():
        return None
    return Message(
        role=role,
        text=text,
        said_at=datetime.fromtimestamp(said_at(event), zone),
        event_id=event.id,
        speaker=event.author,
        context=_context_of(event),
    )


def _context_of(event: Event) -> str:
    name = (event.custom_metadata or {}).get(CONTEXT_KEY)
    return name if isinstance(name, str) and is_label(name) else DEFAULT_CONTEXT


def metadata_keys(event: Event) -> frozenset[str]:
    """Return our metadata keys of an event."""
    metadata = event.custom_metadata
    if not metadata:
        return NO_KEYS
    return frozenset(stamp for stamp in (*UNLEARNED_KEYS, UNMARKED_KEY) if metadata.get(stamp))


def indices_with_key(events: Sequence[Event], key: str) -> set[int]:
    """Return the indices of events with one of our metadata keys, and of the others of their message groups."""
    if not any(key in metadata_keys(event) for event in events):
        return set()
    keys_by_group, groups = MessageGroups(events).keys_by_group, MessageGroups()
    return {place for place, event in enumerate(events) if key in keys_by_group.get(groups.group_of(event), NO_KEYS)}


class MessageGroups:
    """Assigns events to message groups: a user message and what follows in its invocation, up to the next message.

    Metadata keys apply to the whole group, because ADK sets none on a message that another plugin replaced. They do not
    apply to the whole invocation: a message that arrives while a task waits for the user joins the task's invocation.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Start with the first events of a conversation; `keys_by_group` contains the keys of the groups with any."""
        self.keys_by_group: dict[MessageGroup, frozenset[str]] = {}
        self._message_counts: Counter[str] = Counter()
        for event in events:
            self.group_of(event)

    def group_of(self, event: Event) -> MessageGroup:
        """Return the group of the next event; number 0 of an invocation began before the given events."""
        group: MessageGroup = ("", event.id)
        if event.invocation_id:
            self._message_counts[event.invocation_id] += is_typed_message(event) or _is_spoken_message(event)
            group = (event.invocation_id, self._message_counts[event.invocation_id])
        keys = metadata_keys(event)
        if keys:
            self.keys_by_group[group] = self.keys_by_group.get(group, NO_KEYS) | keys
        return group


def is_typed_message(event: Event) -> bool:
    """Return True for a message that the person wrote; ADK gives a node of a Workflow its input as one with a path."""
    is_users = event.author == "user" and bool(event.content)
    return is_users and not event.node_info.path and not event.get_function_responses()


def _is_spoken_message(event: Event) -> bool:
    return event.author == "user" and event.content is None and event.input_transcription is not None


def _is_conversation(event: Event) -> bool:
    return not (
        event.partial
        or (event.error_code and event.error_code != _MAX_TOKENS_ERROR_CODE)
        or event.actions.compaction
        # In other branches agents speak to the agent that called them.
        or (event.author != "user" and event.branch and not is_task(event.branch, event.isolation_scope))
        or any(call.name in USER_REQUEST_CALLS for call in event.get_function_calls())
    )


def is_task(branch: str, scope: str | None) -> bool:
    """Return True for the branch of a task, in which an agent speaks with the person.

    The scope of a task is the id of the call that delegated it, or the path of its node; its branch ends with either.
    """
    return scope is not None and (branch.endswith(f"@{scope}") or scope.endswith(branch.rpartition(".")[2]))


def _role(event: Event) -> Role | None:
    role = event.content.role if event.content else None
    if event.author in _NON_SPEAKER_AUTHORS:
        return None
    if event.author == "user":
        is_spoken = event.content is None
        return "user" if role in _USER_ROLES and (is_spoken or is_typed_message(event)) else None
    return "assistant" if role in _AGENT_ROLES else None


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    written = [part.text for part in parts if part.text and not part.thought]
    spoken = [
        transcription.text
        for transcription in (event.input_transcription, event.output_transcription)
        if transcription is not None and transcription.text and transcription.finished is not False
    ]
    # A model splits its answer anywhere; the parts of a user's message are separate.
    return ("\n" if event.author == "user" or not written else "").join(written or spoken)
