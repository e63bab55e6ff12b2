"""What was said, on its way to be learned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gaia_memory.models.scope import SessionKey

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a transcript: an event's time (seconds since the epoch, as ADK keeps it) and its id."""

    at: float
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One side's text in a turn."""

    role: Role
    text: str
    said_at: datetime
    event_id: str
    speaker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a person said and what was answered, until they speak again.

    `seq` counts the turns of a conversation and grows over its whole life, `ended` marks its last event.
    """

    seq: int
    messages: tuple[Message, ...]
    ended: Mark

    @property
    def event_ids(self) -> tuple[str, ...]:
        """Ids of the events the messages came from, in order."""
        return tuple(message.event_id for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation as read from its transcript.

    `end` marks the last event read, also when it holds nothing to learn. `loaded` is the host's own session
    object as it was read: a transcript that can clear only what was read compares it with what is there now.
    """

    key: SessionKey
    turns: tuple[Turn, ...]
    end: Mark | None
    loaded: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some turns of one conversation, small enough for one question to the extractor.

    `before` are the messages just before them, for context only.
    """

    key: SessionKey
    turns: tuple[Turn, ...]
    before: tuple[Message, ...] = ()

    @property
    def said_at(self) -> datetime:
        """When the chunk began to be said: what "tomorrow" in it refers to."""
        return self.turns[0].messages[0].said_at

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the chunk in order."""
        return tuple(message for turn in self.turns for message in turn.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A fact as the extractor worded it, before it is screened."""

    text: str
    attributed_to: str | None = None
