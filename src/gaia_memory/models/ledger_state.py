"""What the database records in addition to the facts: the state of conversations, and of the mem0 store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from gaia_memory.models.fact import AddResult, Fact, ProfileMaker, Vector
from gaia_memory.models.scope import SessionKey
from gaia_memory.models.turns import EventPosition

MAX_LEARNED_FACTS = 10
"""The most new facts that a reset or a sweep names one by one."""

TokenPurpose = Literal["learning", "reconciling", "profile", "embedding", "recall"]
MemoryState = Literal["ok", "degraded", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAnchor:
    """The start of a replay window: the absolute number and the time of its first turn.

    Number 0: nothing before that time is replayed, however large the window.
    """

    turn_no: int
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenProfile:
    """The profile block of a session, and `key`, the fingerprint of the configuration it was made with."""

    block: str
    key: str | None = None
    made_at: float | None = None
    made_by: ProfileMaker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    """The number of counted turns, the running one if any (`active_until`, `active_owner`), and the last activity."""

    turn_no: int = 0
    active_until: float | None = None
    active_owner: str | None = None
    touched: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningProgress:
    """How far a conversation is learned.

    `unlearned_turns` counts the counted turns that are not learned; `is_learned`: there are none; `is_done`: the
    conversation is also cleared. Messages up to `forgotten_at` are never learned. `requests` are to be learned at once.
    """

    watermark: EventPosition | None = None
    learned_turns: int = 0
    unlearned_turns: int = 0
    is_learned: bool = False
    is_done: bool = False
    forgotten_at: float | None = None
    requests: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """The owner of the lease on a conversation, and its end unless it is renewed."""

    owner: str | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureState:
    """Failed attempts since something was last learned; `bad_answers` counts those that were the model's fault."""

    attempts: int = 0
    bad_answers: int = 0
    failing_since: float | None = None
    retry_at: float | None = None
    last_error: str | None = None
    is_parked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearingState:
    """Who is clearing a conversation, and when it was last cleared.

    `rewound_at`: since then, cleared messages are still in the host's session. `reset_at`: the time of the last event
    that no request holds any more, although the session is kept.
    """

    owner: str | None = None
    expires_at: float | None = None
    cleared_at: float | None = None
    rewound_at: float | None = None
    reset_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Flags and frozen values of a session.

    `is_foreign`: another Runner than ours runs turns in it. `is_private`: messages from here on are not learned.
    `has_pending_confirmation`: the user was asked whether to forget the listed facts, and has not answered.
    """

    is_foreign: bool = False
    is_private: bool = False
    has_pending_confirmation: bool = False
    profile: FrozenProfile | None = None
    anchor: WindowAnchor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """The ledger's row of one conversation, by concern. Times are seconds since the epoch."""

    key: SessionKey
    turn: TurnState = TurnState()
    progress: LearningProgress = LearningProgress()
    lease: LeaseState = LeaseState()
    failures: FailureState = FailureState()
    clearing: ClearingState = ClearingState()
    session: SessionState = SessionState()


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyFact:
    """A row of the outbox: fact `fact_id` changed, and the store must apply `version`."""

    fact_id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """A current fact with its vector; `row` is its place in the order in which facts were stored."""

    fact: Fact
    version: int
    vector: Vector | None
    embedder: str | None
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """The current mem0 store, and how far it is behind the database.

    `owner`, as `host:pid:system/engine`, opened it last. `erasures` counts forgets whose text may still be in a file.
    At `erase_at` something is erased that a tool has forgotten.
    """

    store_id: str
    owner: str | None = None
    lag: int = 0
    erasures: int = 0
    erase_at: float | None = None

    @property
    def owner_description(self) -> str:
        """The owner in words; empty if no process has opened a store yet."""
        if not self.owner:
            return ""
        host, pid, _ = self.owner.rsplit(":", 2)
        return f"process {pid} on {host}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingConversation:
    """A conversation that waits to be learned or has failed, and why.

    `failing_since` is the time of the first of its failed `attempts`. `active_until` bounds the running turn.
    `lease_owner`, as `host:pid:system/engine`, learns it until `lease_until`.
    `messages` counts the user's messages that wait, without private and forgotten ones. Messages sent at once count as
    one, and so do those that memory has found in the session without having seen the turn.
    """

    key: SessionKey
    touched: float
    attempts: int
    failing_since: float | None = None
    reason: str | None
    retry_at: float | None
    parked: bool
    active_until: float | None = None
    lease_owner: str | None = None
    lease_until: float | None = None
    messages: int = 0
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConversation:
    """A conversation that may be learned or cleared now, and the time of its last activity."""

    key: SessionKey
    touched: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """The tokens of questions to a model: `input`, of which `cached`, and `output`; `estimated` of both are a guess."""

    input: int = 0
    cached: int = 0
    output: int = 0
    estimated: int = 0
    questions: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return the sum."""
        return TokenUsage(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})


TokenSums = Mapping[tuple[date, TokenPurpose], TokenUsage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of memory for one user.

    `reason` and `remedy` are empty when `state` is ok. Of the `facts`, `unconfirmed` were written by a model without
    the user's word, and `unverified` were learned from a conversation that does not show whether they are true. A model
    has `judged` that many pairs of facts, `replaced` counts the facts whose place another one took, and `queued` are
    still to be compared with others by a sweep. `lag`
    counts facts that the mem0 store has not followed yet, `foreign_rows` what other programs have written to it and is
    no fact, as far as this process owns the store; `erasures` forgets whose files are still being rewritten.
    `owner` is the process that opened the store last; another one takes over when it ends. `model` and `embedder` name
    what learns and embeds, and `usage` has the tokens that they took for all users, `today` (UTC) and in the
    `last_30_days`, by purpose. `notes` contains remarks that are no problem, such as that the offline model replaces a
    real one.
    """

    state: MemoryState
    reason: str = ""
    remedy: str = ""
    facts: int = 0
    unconfirmed: int = 0
    unverified: int = 0
    judged: int = 0
    replaced: int = 0
    queued: int = 0
    pending: tuple[PendingConversation, ...] = ()
    lag: int = 0
    foreign_rows: int = 0
    erasures: int = 0
    model: str = ""
    embedder: str = ""
    store: str = ""
    owner: str = ""
    notes: tuple[str, ...] = ()
    usage: Mapping[str, Mapping[TokenPurpose, TokenUsage]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutage:
    """A model that cannot be reached: the start and reason of the outage, and the time of the next attempt."""

    since: float
    retry_at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress:
    """The progress of a sweep, in conversations: `in_progress` are being learned, `waiting` are not started yet."""

    consolidated: int = 0
    failed: int = 0
    skipped: int = 0
    in_progress: int = 0
    waiting: int = 0


@dataclass(slots=True)
class LearnedFacts:
    """The new facts that conversations gave: their number, and the first of them, at most `MAX_LEARNED_FACTS`.

    What the same conversation replaced is not among them.
    `is_private`: there was nothing to learn, because the conversation is private. `is_nothing_left`: its new messages
    were commands or are forgotten. `since` is when the conversation was last cleared, in seconds since the epoch.
    """

    count: int = 0
    since: float = 0.0
    first: list[Fact] = field(default_factory=list)
    is_private: bool = False
    is_nothing_left: bool = False
    _ids: set[str] = field(default_factory=set)

    def add(self, written: AddResult, *, past_ids: Set[str] = frozenset()) -> None:
        """Add the facts of a write that are new, and drop those that it made past."""
        new = [fact for fact, is_new in zip(written.facts, written.is_new, strict=True) if is_new]
        self.count -= len(self._ids & past_ids)
        self.first = [fact for fact in self.first if fact.id not in past_ids]
        self._ids = (self._ids | {fact.id for fact in new}) - past_ids
        self.add_facts([fact for fact in new if fact.id not in past_ids])

    def add_facts(self, facts: Sequence[Fact], *, count: int | None = None) -> None:
        """Add `facts`, the first of `count` new ones (default: all of them)."""
        self.count += len(facts) if count is None else count
        self.first += facts[: MAX_LEARNED_FACTS - len(self.first)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The result of a sweep, in conversations.

    `private` were private: nothing of them is learned, and they are not counted as consolidated. Neither are those
    with `nothing_left`, whose new messages were commands or are forgotten. `fact_count` is the number of new facts,
    `facts` the first of them; `without_facts` of the consolidated ones gave none. `reason` says why the model could
    not be reached, if conversations were skipped because of that. `without_model` counts the skipped ones that wait
    for the agent's own model, which this process does not have.
    """

    consolidated: int = 0
    failed: int = 0
    skipped: int = 0
    reason: str = ""
    without_model: int = 0
    private: int = field(default=0, compare=False)
    nothing_left: int = field(default=0, compare=False)
    without_facts: int = field(default=0, compare=False)
    fact_count: int = field(default=0, compare=False)
    facts: tuple[Fact, ...] = field(default=(), compare=False, repr=False)
