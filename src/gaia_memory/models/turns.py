"""What was said, on its way to be learned."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from gaia_memory.models.scope import SessionKey
from gaia_memory.models.time_zone import to_local_time

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, order=True)
class EventPosition:
    """A place in a transcript: an event's time (seconds since the epoch, as ADK keeps it) and its id."""

    timestamp: float
    event_id: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A turn as the host counts it: its id, and when it began by the clock that stamps its events."""

    id: str
    started_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Who begins to talk in a conversation, and what they wait for.

    With `waits_for_clear` not while somebody clears the conversation, with `is_exclusive` not while another living
    owner talks in it; `is_foreign` says that the turn is run by somebody else's Runner. An `invocation` may be one that
    a reading from the watermark on would miss.
    """

    owner: str = ""
    waits_for_clear: bool = True
    is_exclusive: bool = False
    is_foreign: bool = False
    invocation: Invocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One side's text in a turn.

    `may_be_private`: it could not be looked up then whether the conversation was private.
    """

    role: Role
    text: str
    said_at: datetime
    event_id: str
    speaker: str
    may_be_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a person said and what was answered, until they speak again.

    `seq` counts the turns of a conversation and grows over its whole life, `end` marks its last event.
    """

    seq: int
    messages: tuple[Message, ...]
    end: EventPosition

    @property
    def event_ids(self) -> tuple[str, ...]:
        """Ids of the events the messages came from, in order."""
        return tuple(message.event_id for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSlice:
    """A conversation as read from its transcript.

    `turns` are read while they are iterated, each time anew, and never all in memory; `before` are those just ahead
    of them. `end` marks the last event to read, also when it holds nothing to learn. `host_session` is the host's own
    session object of that moment: a transcript that can clear only what was read compares it with what is there now.
    """

    key: SessionKey
    turns: AsyncIterable[Turn]
    end: EventPosition | None
    host_session: object
    before: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some turns of one conversation, small enough for one question to the extractor.

    `before` are the messages just before them, for context only. Where it `is_continued`, its only turn is a piece of
    one that the next chunk holds more of. `zone` is where they were said unless they know better, None this machine's.
    """

    key: SessionKey
    turns: tuple[Turn, ...]
    before: tuple[Message, ...] = ()
    is_continued: bool = False
    zone: tzinfo | None = None

    @property
    def said_at(self) -> datetime:
        """When the chunk began to be said, by the clock there: what "tomorrow" in it refers to."""
        return to_local_time(self.turns[0].messages[0].said_at, self.zone)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the chunk in order."""
        return tuple(message for turn in self.turns for message in turn.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact as the extractor worded it, before it is screened."""

    text: str
    attributed_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStatement:
    """What a person says while a model wants a fact kept.

    `text` is said in a turn that began at `at` (seconds, wall clock); the model also sees what was said in the session
    from `visible_since` on.
    """

    text: str
    turn_started_at: float
    visible_since: float
