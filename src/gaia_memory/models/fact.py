"""What is held true, from the moment it is worded until it is recalled or forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from typing import Literal, overload

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models.scope import Scope
from gaia_memory.models.validation import format_value, raise_invalid, require_int, require_text

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
Vector = Sequence[float]
Source = Literal["remember", "add", "conversation", "import"]
RESERVED_METADATA = frozenset(
    {"user_id", "agent_id", "run_id", "actor_id", "role", "data", "hash", "text_lemmatized", "expiration_date"}
    | {"created_at", "updated_at", "said_at", "session_id", "seq", "source", "id"}
)
"""Names that mem0's payload or a fact's own fields use: some of them would change whose fact it is."""

_MIN_SAID_AT = datetime.min.replace(tzinfo=UTC)
_MAX_SAID_AT = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""Times beyond these two, rounded as a database keeps them, leave what a datetime can hold."""


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
        """Refuse what no store could keep; replace NUL and lone surrogates in the text, which none can hold.

        Raises:
            InvalidInputError: the text is no text or shows nothing, `said_at` has no time zone, `session_id` is
                no id, `seq` no whole number, or the metadata is not flat or uses a name of the store's own.
        """
        object.__setattr__(self, "text", replace_unstorable(require_text("NewFact.text", self.text)))
        _check_said_at(self.said_at)
        session_id: object = self.session_id
        if session_id == "" or not isinstance(session_id, str | None):
            raise_invalid("NewFact.session_id", session_id, "pass the id of the conversation as text, or None")
        if self.seq is not None:
            fix = "pass a whole number from 0 to 2**63 - 1, or None"
            require_int("NewFact.seq", self.seq, minimum=0, maximum=2**63 - 1, fix=fix)
        _check_metadata(self.metadata)


def _check_said_at(said_at: object) -> None:
    if said_at is None:
        return
    if not isinstance(said_at, datetime) or said_at.utcoffset() is None:
        raise_invalid("NewFact.said_at", said_at, "pass a time with a time zone, such as datetime.now(UTC), or None")
    if not _MIN_SAID_AT <= said_at <= _MAX_SAID_AT:
        raise_invalid("NewFact.said_at", said_at, "pass a time that lies in the years 1 to 9999 in UTC, too")


def _check_metadata(metadata: object) -> None:
    if not isinstance(metadata, Mapping):
        raise_invalid("NewFact.metadata", metadata, "pass a mapping of names to text, numbers and true/false")
    for name, value in metadata.items():
        if not isinstance(name, str) or replace_unstorable(name) != name or name.startswith("chroma:"):
            fix = "name it with text that has no NUL, no lone surrogate and does not begin with 'chroma:'"
            raise_invalid("a name in NewFact.metadata", name, fix)
        if name in RESERVED_METADATA:
            raise InvalidInputError(f"NewFact.metadata names {name!r}, which the store uses itself: rename it")
        if not isinstance(value, str | int | float):
            fix = "metadata is flat, with text, numbers and true/false"
            raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, fix)
        if isinstance(value, float) and not isfinite(value):
            raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, "pass a finite number, or leave it out")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, "pass a number of 64 bits, or text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A fact on its way into the database: a `NewFact` with its source and, if there is one, its vector.

    `event_ids` are the events it was learned from, `app` the app of that conversation. `embedder` names what
    made the vector. A new fact has `created_at` and `updated_at` where they are given, else the time of the write.
    """

    fact: NewFact
    source: Source
    app: str | None = None
    event_ids: tuple[str, ...] = ()
    vector: Vector | None = None
    embedder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


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


@dataclass(frozen=True, slots=True, eq=False)
class AddResult(Sequence[Fact]):
    """The facts that a write stored or confirmed, in order: a sequence that compares equal to a list of them.

    `is_new` says for each whether this write created it; a text given twice is new the first time. `refused` lists the
    facts that were left out, each with its index in what was given and the reason.
    """

    facts: tuple[Fact, ...] = ()
    is_new: tuple[bool, ...] = ()
    refused: Sequence[tuple[int, str]] = ()

    @overload
    def __getitem__(self, index: int) -> Fact: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Fact]: ...

    def __getitem__(self, index: int | slice) -> Fact | Sequence[Fact]:
        return self.facts[index]

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, AddResult | list | tuple) else NotImplemented


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One source of a fact: what taught it, where and when, and from which events."""

    source: Source
    app: str | None = None
    session_id: str | None = None
    seq: int | None = None
    said_at: datetime | None = None
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What one retriever found: a fact's id and the score it gave, higher is better.

    `similarity` is how much the fact is like the question, from -1 to 1, where the score only tells facts apart.
    """

    fact_id: str
    score: float
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled fact with its score and what that score is made of.

    `why` maps each stage to the part it contributed; `missing` names what could not answer: retrievers, `rewriting`,
    `reranker`.
    """

    fact: Fact
    score: float
    why: Mapping[str, float]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """What a recall found, and what it left out.

    `hits` are what `recall` returns, at most `limit`; `dropped` were among the best so many and score below
    `memory.score_threshold` or did not fit into `memory.recall.tokens`. `missing` names what could not answer,
    `expansions` the other words that were looked for.
    """

    hits: tuple[Hit, ...] = ()
    dropped: tuple[Hit, ...] = ()
    limit: int = 0
    missing: tuple[str, ...] = ()
    expansions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of facts, oldest first: those from `offset` on, of `total`.

    `origins` lists the sources of each by the fact's id, where they were asked for.
    """

    facts: tuple[Fact, ...] = ()
    total: int = 0
    offset: int = 0
    origins: Mapping[str, Sequence[Origin]] = field(default_factory=dict)

    @property
    def has_more(self) -> bool:
        """Whether facts come after these."""
        return self.offset + len(self.facts) < self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    """What the database holds about a scope as a whole.

    `revision` grows with every write; `forgotten_at` (seconds since the epoch) is the moment up to which
    nothing said may be learned any more.
    """

    revision: int = 0
    forgotten_at: float | None = None


ProfileMaker = Literal["model", "fallback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What an agent is told about a person at the start of a session.

    `bullets` is empty when there is nothing to tell. `fingerprint` stands for the facts, projects and limits
    it was made from, `revision` for the state of the scope they were read in. `made_by` says whether the model wrote
    it or it stands in for the model's, and `made_at` when; both are None where nothing was made, or nobody noted it.
    """

    bullets: tuple[str, ...]
    fingerprint: str
    revision: int
    made_by: ProfileMaker | None = None
    made_at: datetime | None = None


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
