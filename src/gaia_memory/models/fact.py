"""Facts, from the moment they are worded until they are recalled or forgotten, and results of operations on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, overload

from gaia_memory.models.new_fact import DEFAULT_CONTEXT, IN_DOUBT, MARKS_OF_DOUBT, UNCONFIRMED_KEY, Metadata, NewFact
from gaia_memory.models.scope import Scope, SessionKey

Vector = Sequence[float]

SENSITIVE_MARK = "sensitive"
"""The mark of a fact that only the person is shown."""

Source = Literal["remember", "agent", "conversation", "add", "import", "mem0", "grow"]
"""Who wrote a fact: a person or the host, a model's tool call, learning, the host in bulk, an import, another
program through the mem0 store, or `gaia grow` from counts of use."""
REMEMBERED_SOURCES: frozenset[Source] = frozenset({"remember", "agent"})
"""The sources of facts that somebody wanted remembered, one at a time."""


EndingReason = Literal["replaced", "retracted", "expired", "merged", "untrue"]
"""Why a fact ended: another took its place, it was taken back, its time was over, another says the same, or it was
never true."""


class ToolTurn(NamedTuple):
    """A turn whose tools change facts: the conversation and the id of ADK's invocation."""

    key: SessionKey
    invocation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEnd:
    """An ending that is to be stored.

    `ended_at` is since when the fact `fact_id` is no longer true, `ended_by` the fact that took its place, `actor` who
    says so: `person`, `host`, `agent:NAME`, `model`, `rule:NAME` or `clock`. `app` and `session_id` name the
    conversation that ended it. With a `version`, the fact ends only while it is that of `StoredFact.version`. What was
    stored has the time of that in `noted_at` and, if it was undone, the time of that in `undone_at`. `note` is what
    somebody said of an `untrue` fact.
    """

    fact_id: str
    ended_at: datetime
    why: EndingReason
    actor: str
    ended_by: str | None = None
    version: int | None = None
    app: str | None = None
    session_id: str | None = None
    noted_at: datetime | None = None
    undone_at: datetime | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A fact on its way into the database: a `NewFact` with its source and, if there is one, its vector.

    The fields up to `origin_id` are those of the `Origin` that the write adds; its agent defaults to that of the fact.
    The fact of an import (`is_imported`) has the source `import`, whatever the import says about `source`. `embedder`
    is the origin of the vector. `noted_at`, `created_at` and `updated_at` default to the time of the write. It was said
    while `active_context` was active: a new fact without a context belongs to that, and one known in another to both.
    A new fact gets the id `fact_id`, unless another has it.
    """

    fact: NewFact
    source: Source
    app: str | None = None
    event_ids: tuple[str, ...] = ()
    turn_event_ids: tuple[str, ...] = ()
    noted_at: datetime | None = None
    agent: str | None = None
    channel: str | None = None
    excerpt: str | None = None
    extractor: str | None = None
    is_imported: bool = False
    origin_scope: str | None = None
    origin_id: str | None = None
    vector: Vector | None = None
    embedder: str | None = None
    active_context: str = DEFAULT_CONTEXT
    created_at: datetime | None = None
    updated_at: datetime | None = None
    fact_id: str | None = None


def draft_context(draft: Draft) -> str:
    """Return the context to which a new fact belongs."""
    return draft.fact.context if draft.fact.context != DEFAULT_CONTEXT else draft.active_context


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A stored fact about a person; the fields from `category` on are those of `NewFact`."""

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
    category: str | None = None
    entity: str | None = None
    context: str = DEFAULT_CONTEXT
    agent: str | None = None
    key: str | None = None
    sensitive: bool = False
    due_at: datetime | None = None
    due_zone: str | None = None
    due_all_day: bool = False
    every: str | None = None
    reminded_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    first_said_at: datetime | None = None
    in_doubt_since: datetime | None = None

    @property
    def last_said_at(self) -> datetime:
        """When the person last said it, as far as that is known; otherwise when it was stored."""
        return self.said_at or self.created_at

    def holds_at(self, moment: datetime) -> bool:
        """Return whether the fact holds at a time by its validity: from `valid_from` until before `valid_until`."""
        has_begun = self.valid_from is None or self.valid_from <= moment
        return has_begun and (self.valid_until is None or moment < self.valid_until)

    @property
    def is_unconfirmed(self) -> bool:
        """Whether a model wrote this fact and the person has not said it."""
        return self.metadata.get(UNCONFIRMED_KEY) is True

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that lists show.

        `unconfirmed`, `unverified` if its conversation does not show it, `sensitive`, `in doubt`.
        """
        marks = [name for name in MARKS_OF_DOUBT if self.metadata.get(name) is True]
        return (*marks, *([SENSITIVE_MARK] if self.sensitive else []), *([IN_DOUBT] if self.is_in_doubt else []))

    def is_visible(self, context: str | None) -> bool:
        """Return whether an agent may be shown it unasked while `context` is active; None stands for every context."""
        return not self.sensitive and (context is None or self.context in (context, DEFAULT_CONTEXT))

    @property
    def is_in_doubt(self) -> bool:
        """Whether it may hold no longer, because of something said later."""
        return self.in_doubt_since is not None


MIN_SHARED_WORDS = 2
"""Distinctive words that make two facts similar without vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarFact:
    """A current fact that another one may contradict or repeat: how near their vectors are, and which words they share.

    `cosine` is 0 for a fact that is similar by its words alone. `shared_words` counts the distinctive words in both.
    """

    fact: Fact
    cosine: float = 0.0
    shared_words: int = 0

    @property
    def is_similar_by_words(self) -> bool:
        """Whether they share enough words to be similar whatever their vectors are."""
        return self.shared_words >= MIN_SHARED_WORDS


@dataclass(frozen=True, slots=True, eq=False)
class AddResult(Sequence[Fact]):
    """The facts that a write stored or confirmed, in order: a sequence that compares equal to a list of them.

    `is_new` says for each whether this write created it; a text given twice is new the first time. `refused` lists the
    facts that were left out, each with its index in the input and the reason. `replaced` are the ids of facts that
    ended because a written one has their key, `past` those of written facts that are in history.
    """

    facts: tuple[Fact, ...] = ()
    is_new: tuple[bool, ...] = ()
    refused: Sequence[tuple[int, str]] = ()
    replaced: frozenset[str] = frozenset()
    past: frozenset[str] = frozenset()

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
    """One source of a fact: its kind, conversation, time and events.

    `event_ids` are all events the fact may come from, `turn_event_ids` those of the turn it is attributed to.
    `noted_at` is when it was learned, `agent` who spoke with the person, `channel` where, `excerpt` what the person
    said, `extractor` which model and prompt worded the fact. An import says the rest about an `is_imported` source. A
    copy names the fact it was made from: `origin_id` in the scope with the partition `origin_scope`. A tool names its
    `turn`, which is not stored.
    """

    source: Source
    app: str | None = None
    session_id: str | None = None
    seq: int | None = None
    said_at: datetime | None = None
    event_ids: tuple[str, ...] = ()
    turn_event_ids: tuple[str, ...] = ()
    noted_at: datetime | None = None
    agent: str | None = None
    channel: str | None = None
    excerpt: str | None = None
    extractor: str | None = None
    is_imported: bool = False
    origin_scope: str | None = None
    origin_id: str | None = None
    turn: ToolTurn | None = None


OTHER_VECTORS = "other vectors"
"""The name in `Hit.missing` of facts that carry vectors of another embedder."""

_PART_NAMES = {
    "vectors": "the search by meaning",
    "rewriting": "the words that the model would have added",
    "reranker": "the reranker",
}


def describe_missing(missing: Collection[str]) -> list[str]:
    """Return what `Hit.missing` means for somebody who reads the hits, in sentences."""
    failed = ", ".join(_PART_NAMES[name] for name in missing if name in _PART_NAMES)
    other = "Facts that another embedder has embedded were found by their words alone: `gaia memory reindex`."
    without = f"These results are without {failed}, which did not answer: try again, or see `gaia doctor`."
    return [other] * (OTHER_VECTORS in missing) + [without] * bool(failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled fact with its score and the parts of that score.

    `why` maps each stage to its part. `missing` names what failed: `vectors`, `rewriting` (query
    expansion) and `reranker`; and `other vectors` if facts that another embedder has embedded were left to their words.
    """

    fact: Fact
    score: float
    why: Mapping[str, float]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedHit(Hit):
    """A fact that would have been among the hits if it had not ended.

    `ending` says when, why and by whom. The reason is also the last part of `why`, which takes the score back to 0.
    """

    ending: FactEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The result of a recall, with details.

    `hits` are returned by `recall`, at most `limit`. `dropped` hits were among the best too, but scored below
    `memory.score_threshold` or did not fit into `memory.recall.tokens`. `missing` is that of `Hit`. `expansions` are
    the lines added to the question. `explain` lists in `outdated` what has ended and would have been among the hits.
    """

    hits: tuple[Hit, ...] = ()
    dropped: tuple[Hit, ...] = ()
    limit: int = 0
    missing: tuple[str, ...] = ()
    expansions: tuple[str, ...] = ()
    outdated: tuple[OutdatedHit, ...] = ()


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

    `count` current facts were deleted and are shown nowhere. `removed` counts rows by kind; `history` are past facts.
    `pending` is true while the erasure of files still runs (`Memory.settled()` waits for it). `copies` counts the facts
    that an import made from these in other scopes, where they stay.
    """

    count: int
    removed: Mapping[str, int] = field(default_factory=dict)
    pending: bool = False
    notes: tuple[str, ...] = ()
    copies: int = 0


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
