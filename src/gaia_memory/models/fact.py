"""Facts, from the moment they are worded until they are recalled or forgotten, and results of operations on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Literal, overload

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models.scope import Scope
from gaia_memory.models.validation import format_value, raise_invalid, require_int, require_text, require_time

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
Vector = Sequence[float]
Source = Literal["remember", "add", "conversation", "import"]
RESERVED_METADATA = frozenset(
    {"user_id", "agent_id", "run_id", "actor_id", "role", "data", "hash", "text_lemmatized", "expiration_date"}
    | {"created_at", "updated_at", "said_at", "session_id", "seq", "source", "id"}
)
"""Names used by mem0's payload or by fields of a fact: some of them would change the owner of a fact."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be stored verbatim.

    `said_at` is an aware time. `session_id` and `seq` (its position in that conversation) let recall use the neighbours
    of a fact. `metadata` are flat scalars under names that are not reserved.
    """

    text: str
    said_at: datetime | None = None
    session_id: str | None = None
    seq: int | None = None
    metadata: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate the fields; replace NUL and lone surrogates in the text, which databases cannot store.

        Raises:
            InvalidInputError: the text is not a string or blank, `said_at` has no time zone, `session_id` is not an id,
                `seq` not a whole number, or the metadata is not flat or uses a reserved name.
        """
        object.__setattr__(self, "text", replace_unstorable(require_text("NewFact.text", self.text)))
        if self.said_at is not None:
            require_time("NewFact.said_at", self.said_at)
        session_id: object = self.session_id
        if session_id == "" or not isinstance(session_id, str | None):
            raise_invalid("NewFact.session_id", session_id, "pass the id of the conversation as text, or None")
        if self.seq is not None:
            fix = "pass a whole number from 0 to 2**63 - 1, or None"
            require_int("NewFact.seq", self.seq, minimum=0, maximum=2**63 - 1, fix=fix)
        _check_metadata(self.metadata)


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

    `event_ids` are the events it was learned from, `app` the app of that conversation, `embedder` the origin of the
    vector. `created_at` and `updated_at` default to the time of the write.
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
    """A stored fact about a person."""

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
    facts that were left out, each with its index in the input and the reason.
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
    """One source of a fact: its kind, conversation, time and events."""

    source: Source
    app: str | None = None
    session_id: str | None = None
    seq: int | None = None
    said_at: datetime | None = None
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled fact with its score and the parts of that score.

    `why` maps each stage to its part. `missing` names what failed: `vectors`, `rewriting` (query
    expansion) and `reranker`.
    """

    fact: Fact
    score: float
    why: Mapping[str, float]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The result of a recall, with details.

    `hits` are returned by `recall`, at most `limit`. `dropped` hits were among the best too, but scored below
    `memory.score_threshold` or did not fit into `memory.recall.tokens`. `missing` is that of `Hit`. `expansions` are
    the lines added to the question.
    """

    hits: tuple[Hit, ...] = ()
    dropped: tuple[Hit, ...] = ()
    limit: int = 0
    missing: tuple[str, ...] = ()
    expansions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of facts, oldest first: those from `offset` on, of `total`.

    `origins` lists the sources of each by the fact's id, if they were requested.
    """

    facts: tuple[Fact, ...] = ()
    total: int = 0
    offset: int = 0
    origins: Mapping[str, Sequence[Origin]] = field(default_factory=dict)

    @property
    def has_more(self) -> bool:
        """Whether more facts follow."""
        return self.offset + len(self.facts) < self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    """The state of a scope in the database.

    `revision` grows with every write. Statements made up to `forgotten_at` (seconds since the epoch) are never learned.
    """

    revision: int = 0
    forgotten_at: float | None = None


ProfileMaker = Literal["model", "fallback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The lines about a person that an agent gets at the start of a session.

    `bullets` is empty when nothing is known. `fingerprint` identifies the facts, projects and limits it was made from,
    `revision` the state of the scope. `made_by` is the model or the fallback, and `made_at` the time; both are None for
    an empty profile and for profiles of older versions.
    """

    bullets: tuple[str, ...]
    fingerprint: str
    revision: int
    made_by: ProfileMaker | None = None
    made_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of a `forget`.

    `count` facts were deleted from the database and are shown nowhere. `removed` counts rows by kind. `pending` is true
    while the erasure of files still runs (`Memory.settled()` waits for it).
    """

    count: int
    removed: Mapping[str, int] = field(default_factory=dict)
    pending: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A phone number for a relation or a name.

    `number` is set only if the status is `found`: digits, with a leading plus where one was given. `candidates` are all
    numbers found, so that an agent can ask about an ambiguous one.
    """

    status: Literal["found", "ambiguous", "not_found"]
    number: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """Counts of facts after a merge.

    `moved` facts belong to the other scope now, `joined` ones were known to both and are stored once with all their
    sources, `dropped` ones are deleted because the other scope had forgotten them.
    """

    moved: int = 0
    joined: int = 0
    dropped: int = 0

    @property
    def count(self) -> int:
        """The sum of all counts."""
        return self.moved + self.joined + self.dropped
