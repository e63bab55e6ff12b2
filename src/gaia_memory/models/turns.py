"""Turns and messages on their way to be learned."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Literal

from gaia_memory.models.new_fact import DEFAULT_CONTEXT
from gaia_memory.models.recurrence import to_local_time
from gaia_memory.models.scope import Scope, SessionKey

Role = Literal["user", "assistant"]

MAX_CONTEXT_CHARACTERS = 1_000
"""Characters of the answer before a chunk that the extractor sees."""

MAX_LATER_TURNS = 3
"""Turns behind a chunk that a model sees: a correction may follow a question about what it corrects."""


@dataclass(frozen=True, slots=True, order=True)
class EventPosition:
    """A place in a transcript: an event's time (seconds since the epoch, as ADK keeps it) and its id."""

    timestamp: float
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A request to start a turn, and what it waits for.

    `waits_for_clear`: block while a clear is running. `is_exclusive`: block while another live owner has a turn.
    `is_foreign`: the turn runs in a Runner that is not ours. `precedes_session`: the session may not exist yet, so the
    first turn of a conversation is not counted; a process that ends before it creates the session leaves nothing.
    """

    owner: str = ""
    waits_for_clear: bool = True
    is_exclusive: bool = False
    is_foreign: bool = False
    precedes_session: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The text of one side in a turn.

    `may_be_private`: memory could not check at the time whether the conversation was private. `context` is the one that
    was active.
    """

    role: Role
    text: str
    said_at: datetime
    event_id: str
    speaker: str
    may_be_private: bool = False
    context: str = DEFAULT_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message of the user with the answers to it.

    `seq` numbers the turns over the whole life of a conversation; `end` is the position of the turn's last event.
    """

    seq: int
    messages: tuple[Message, ...]
    end: EventPosition

    @property
    def event_ids(self) -> tuple[str, ...]:
        """Ids of the events the messages came from, in order."""
        return tuple(message.event_id for message in self.messages)

    @property
    def context(self) -> str:
        """The context that was active; `global` if none was."""
        named = (message.context for message in self.messages if message.context != DEFAULT_CONTEXT)
        return next(named, DEFAULT_CONTEXT)

    @property
    def user_text(self) -> str:
        """What the user said."""
        return self._text_of("user")

    @property
    def agent_text(self) -> str:
        """What the agents said."""
        return self._text_of("assistant")

    def _text_of(self, role: Role) -> str:
        return "\n".join(message.text for message in self.messages if message.role == role)

    @property
    def agent(self) -> str | None:
        """The agent that gave the last answer; None without an answer."""
        return next((message.speaker for message in reversed(self.messages) if message.role == "assistant"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSlice:
    """A conversation as read from its transcript.

    `turns` are read from the database during each iteration and are never all in memory; `before` are the turns just
    before them. `end` is the position of the last event, even when it contains nothing to learn. `host_session` is the
    host's session object as read: a transcript compares it with the stored session and clears only messages read.
    """

    key: SessionKey
    turns: AsyncIterable[Turn]
    end: EventPosition | None
    host_session: object
    before: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Turns of one conversation, few enough for one call of the extractor.

    The rest is for context only. `before` is the end of the answer just before them. `after` are the messages just
    behind them, which may take back what is said in them. A model sees these only if the chunk `ends_early`, as the
    next one is learned much later. `is_continued`: its only turn continues in the next chunk. `zone` is the user's time
    zone; None means this machine's. `known_keys` are those of facts that the user has.
    """

    key: SessionKey
    turns: tuple[Turn, ...]
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    ends_early: bool = False
    is_continued: bool = False
    zone: tzinfo | None = None
    known_keys: tuple[str, ...] = ()

    @property
    def said_at(self) -> datetime:
        """When the chunk begins, in the user's local time: the date that "tomorrow" in it refers to."""
        return to_local_time(self.turns[0].messages[0].said_at, self.zone)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the chunk in order."""
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def context(self) -> tuple[Message, ...]:
        """The messages that are for context only."""
        return (*self.before, *self.after)

    def halve(self) -> tuple[Chunk, Chunk] | None:
        """Return the first and the second half of the turns; None for a single turn."""
        middle = len(self.turns) // 2
        if middle == 0:
            return None
        first = replace(self, turns=self.turns[:middle], after=self.turns[middle].messages, ends_early=False)
        return first, replace(self, turns=self.turns[middle:], before=reply_context(first.messages))


def reply_context(preceding: Sequence[Message]) -> tuple[Message, ...]:
    """Return the end of the last answer, which "yes, the second one" may reply to.

    Messages of the user are left out: they belong to the chunk before and are learned once.
    """
    if not preceding or preceding[-1].role != "assistant":
        return ()
    last = preceding[-1]
    return (replace(last, text=last.text[-MAX_CONTEXT_CHARACTERS:]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact in the extractor's words, before screening.

    `extractor` names the model and the prompt. `said_at` is when it was said, if the messages name an earlier time,
    `valid_from` and `valid_until` from when until when it holds, a last day included. `due_at` is when it is due, and
    `every` how often that comes back, as a fact has it. Each is a day or a time, which is local without a zone.
    `key` is that of `NewFact`. `unverified`: the conversation does not show whether it is true. `sensitive`: its topic
    is, as the extractor says.
    """

    text: str
    attributed_to: str | None = None
    category: str | None = None
    said_at: date | datetime | None = None
    valid_from: date | datetime | None = None
    valid_until: date | datetime | None = None
    due_at: date | datetime | None = None
    every: str | None = None
    key: str | None = None
    extractor: str | None = None
    unverified: bool = False
    sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserStatement:
    """What the user said when a model remembers a fact.

    `text` is the message of the turn, which started at `turn_started_at` (seconds since the epoch); the model sees the
    session from `visible_since` on. `recent_texts` are the user's messages of the last turns. `agreed_to` is
    the agent's last message if `text` says yes to it and nothing else. `tool_answers` are what other tools answered in
    the last turns. `turn_id` and `earlier_turn_id` name the turn
    and the one before.
    """

    text: str
    turn_started_at: float
    visible_since: float
    recent_texts: tuple[str, ...] = ()
    agreed_to: str = ""
    tool_answers: tuple[str, ...] = ()
    turn_id: str = ""
    earlier_turn_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUsage:
    """What one turn used, or one slash command that was typed; times are seconds since the epoch.

    `tools` has the name of each tool that was called with its outcome: `ok`, for `load_memory` and the like `found` or
    `nothing`, or the kind of the error. `began_at` is by the host's clock, as the times of forgets are.
    """

    scope: Scope
    key: SessionKey
    began_at: float
    channel: str | None = None
    command: str | None = None
    tools: tuple[tuple[str, str], ...] = ()
    ended_at: float = 0.0
