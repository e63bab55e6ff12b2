"""The values that travel between rooms: frozen, typed, without behaviour beyond their own form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from gaia_memory.errors import InvalidInputError

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
Vector = tuple[float, ...]
Role = Literal["user", "assistant"]
Source = Literal["remember", "add", "conversation", "import"]
MemoryState = Literal["ok", "degraded", "disabled"]

PARTITION_LIMIT = 512
"""Characters of a partition before it is replaced by a digest: server databases limit an index entry."""


RESERVED_METADATA = frozenset(
    {"user_id", "agent_id", "run_id", "actor_id", "role", "data", "hash", "text_lemmatized", "expiration_date"}
    | {"created_at", "updated_at", "said_at", "session_id", "seq", "source", "id"}
)
"""Names that mem0's payload or a fact's own fields use: some of them would change whose fact it is."""


def _encode(identifier: str) -> str:
    return quote(identifier, safe="", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: the hard border of every read, write and delete.

    `app` is None where one memory spans all apps (`memory.scope: user`). Ids are compared by their bytes:
    no trimming, no case folding, no Unicode normalisation.
    """

    app: str | None
    user: str

    def __post_init__(self) -> None:
        """Turn ids into text and refuse empty ones.

        Raises:
            InvalidInputError: `app` or `user` is empty.
        """
        object.__setattr__(self, "user", str(self.user))
        if self.app is not None:
            object.__setattr__(self, "app", str(self.app))
        if self.user == "" or self.app == "":
            name = "user" if self.user == "" else "app"
            raise InvalidInputError(f"Scope.{name} is '': pass a non-empty id")

    @property
    def partition(self) -> str:
        """The scope as one opaque ASCII id, `app:user` with both halves percent-encoded.

        Two scopes share a partition only when they are equal. It holds no wildcard and no white space, so
        that a vector store which gives those a meaning cannot misread it. A very long id becomes a digest,
        which holds no colon and so never meets an encoded one.
        """
        joined = f"{'' if self.app is None else _encode(self.app)}:{_encode(self.user)}"
        if len(joined) <= PARTITION_LIMIT:
            return joined
        return "sha256-" + hashlib.sha256(joined.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Which conversation: the session `session` of `user` in the ADK app `app`."""

    app: str
    user: str
    session: str


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


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be stored word for word.

    `said_at` is an aware time; `session_id` and `seq` (its place in that conversation) let recall use the
    neighbours of a fact; `metadata` holds flat scalars under names that are not the store's own.
    """

    text: str
    said_at: datetime | None = None
    session_id: str | None = None
    seq: int | None = None
    metadata: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no store could keep.

        Raises:
            InvalidInputError: the text is blank or no text, `said_at` has no time zone, or the metadata is
                not flat or uses a reserved name.
        """
        text: object = self.text
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(f"NewFact.text is {text!r}: pass a sentence")
        if self.said_at is not None and self.said_at.tzinfo is None:
            raise InvalidInputError(f"NewFact.said_at is {self.said_at!r}: pass a time with a time zone")
        pairs: list[tuple[object, object]] = list(self.metadata.items())
        for name, value in pairs:
            if name in RESERVED_METADATA:
                raise InvalidInputError(f"NewFact.metadata names {name!r}, which the store uses itself: rename it")
            if not isinstance(name, str) or not isinstance(value, str | int | float | bool):
                raise InvalidInputError(
                    f"NewFact.metadata[{name!r}] is {value!r}: metadata is flat, with text, numbers and true/false"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A fact on its way into the database: a `NewFact` with its source and, if there is one, its vector.

    `event_ids` are the events it was learned from, `app` the app of that conversation. `embedder` names what
    made the vector.
    """

    fact: NewFact
    source: Source
    app: str | None = None
    event_ids: tuple[str, ...] = ()
    vector: Vector | None = None
    embedder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something held true about a person, as it stands in the database now."""

    id: str
    scope: Scope
    text: str
    source: Source
    created_at: datetime
    updated_at: datetime
    said_at: datetime | None = None
    session_id: str | None = None
    seq: int | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What one retriever found: a fact's id and the score it gave, higher is better."""

    fact_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled fact with its score and what that score is made of.

    `why` maps each stage to the part it contributed; `missing` names retrievers that could not answer.
    """

    fact: Fact
    score: float
    why: Mapping[str, float]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    """What the database holds about a scope as a whole.

    `revision` grows with every write; `forgotten_at` (seconds since the epoch) is the moment up to which
    nothing said may be learned any more.
    """

    revision: int = 0
    forgotten_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What an agent is told about a person at the start of a session.

    `bullets` is empty when there is nothing to tell. `fingerprint` stands for the facts, projects and limits
    it was made from, `revision` for the state of the scope they were read in.
    """

    bullets: tuple[str, ...]
    fingerprint: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a `forget` removed.

    `count` facts are gone from the database and shown nowhere. `removed` counts rows by place; `pending` is
    true while the physical erasure of files still runs (`Memory.settled()` waits for it).
    """

    count: int
    removed: Mapping[str, int] = field(default_factory=dict)
    pending: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """A fact as the extractor worded it, before it is screened."""

    text: str
    attributed_to: str | None = None


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
class Anchor:
    """Where a replay window begins: the absolute number of its first turn, and that turn's time."""

    turn_no: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What the ledger knows of one conversation. Times are seconds since the epoch."""

    key: SessionKey
    turn_no: int = 0
    active_until: float | None = None
    touched: float = 0.0
    watermark: Mark | None = None
    learned_turns: int = 0
    lease_owner: str | None = None
    lease_until: float | None = None
    clearing: str | None = None
    clearing_until: float | None = None
    cleared_at: float | None = None
    attempts: int = 0
    retry_at: float | None = None
    last_error: str | None = None
    parked: bool = False
    profile: str | None = None
    profile_key: str | None = None
    anchor: Anchor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyFact:
    """A row of the outbox: fact `fact_id` changed, and `version` is the change to be followed."""

    fact_id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """A current fact with what a vector store needs of it."""

    fact: Fact
    version: int
    vector: Vector | None
    embedder: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """Which mem0 store is the current one, and how far behind the database it is.

    `owner` is `host:pid:start` of the process that last opened it. `erasures` counts forgets whose text may
    still be in a file. `awaited_until`: somebody waits for the store, so its owner does not pace itself.
    """

    store_id: str
    owner: str | None = None
    lag: int = 0
    erasures: int = 0
    awaited_until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A conversation that waits to be learned, and why."""

    key: SessionKey
    touched: float
    attempts: int
    reason: str | None
    retry_at: float | None
    parked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How memory is doing for one person.

    `state` is ok, degraded or disabled; `reason` and `remedy` are empty when it is ok. `lag` counts facts the
    mem0 store has not followed yet, `erasures` forgets whose files are still being rewritten.
    """

    state: MemoryState
    reason: str = ""
    remedy: str = ""
    facts: int = 0
    pending: tuple[Pending, ...] = ()
    lag: int = 0
    erasures: int = 0
    model: str = ""
    embedder: str = ""
    store: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a sweep did, in conversations."""

    consolidated: int = 0
    failed: int = 0
    skipped: int = 0
