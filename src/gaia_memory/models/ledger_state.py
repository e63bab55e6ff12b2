"""What the database records beside the facts: how far talk was learned, and what the store must follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gaia_memory.models.fact import Fact, ProfileMaker, Vector
from gaia_memory.models.scope import SessionKey
from gaia_memory.models.turns import EventPosition

MemoryState = Literal["ok", "degraded", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAnchor:
    """Where a replay window begins: the absolute number of its first turn, and that turn's time.

    Number 0: nothing before that time is replayed, however large the window is.
    """

    turn_no: int
    timestamp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What the ledger knows of one conversation. Times are seconds since the epoch.

    `is_learned`: no turn was counted since it was last learned; `is_done`: nor since it was cleared.
    `is_foreign`: a Runner of somebody else talks in it.
    `is_private`: what is said in it from now on is not to be learned.
    `has_pending_confirmation`: some rows were shown in it that a yes forgets, and nothing was answered.
    `rewound_at`: since then cleared talk is still in the host's session.
    """

    key: SessionKey
    turn_no: int = 0
    active_until: float | None = None
    active_owner: str | None = None
    is_foreign: bool = False
    is_private: bool = False
    has_pending_confirmation: bool = False
    touched: float = 0.0
    watermark: EventPosition | None = None
    learned_turns: int = 0
    is_learned: bool = False
    is_done: bool = False
    lease_owner: str | None = None
    lease_until: float | None = None
    clearing: str | None = None
    clearing_until: float | None = None
    cleared_at: float | None = None
    rewound_at: float | None = None
    attempts: int = 0
    bad_answers: int = 0
    failing_since: float | None = None
    retry_at: float | None = None
    last_error: str | None = None
    parked: bool = False
    forgotten_at: float | None = None
    profile: str | None = None
    profile_key: str | None = None
    profile_made_at: float | None = None
    profile_made_by: ProfileMaker | None = None
    anchor: WindowAnchor | None = None


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

    `owner` is `host:pid:system-start/engine` of who opened it last. `erasures` counts forgets whose text may
    still be in a file. `awaited_until`: somebody waits for the store, so its owner does not pace itself.
    """

    store_id: str
    owner: str | None = None
    lag: int = 0
    erasures: int = 0
    awaited_until: float | None = None

    @property
    def owner_description(self) -> str:
        """The owner in words; empty where nobody has opened a store yet."""
        if not self.owner:
            return ""
        host, pid, _ = self.owner.rsplit(":", 2)
        return f"process {pid} on {host}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingConversation:
    """A conversation that waits to be learned, and why; `failing_since` its first failed attempt of `attempts`."""

    key: SessionKey
    touched: float
    attempts: int
    failing_since: float | None = None
    reason: str | None
    retry_at: float | None
    parked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConversation:
    """A conversation that may be learned or cleared now, and since when it is quiet."""

    key: SessionKey
    touched: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How memory is doing for one person.

    `state` is ok, degraded or disabled; `reason` and `remedy` are empty when it is ok. `lag` counts facts the
    mem0 store has not followed yet, `erasures` forgets whose files are still being rewritten. `owner` is the
    process that opened the store last; another one takes over when it ends.
    """

    state: MemoryState
    reason: str = ""
    remedy: str = ""
    facts: int = 0
    pending: tuple[PendingConversation, ...] = ()
    lag: int = 0
    erasures: int = 0
    model: str = ""
    embedder: str = ""
    store: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutage:
    """A model that cannot be reached: since when, why, and until when it is left alone."""

    since: float
    retry_at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress:
    """How far a sweep is, in conversations: `in_progress` are being learned, `waiting` were not begun yet."""

    consolidated: int = 0
    failed: int = 0
    skipped: int = 0
    in_progress: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a sweep did, in conversations.

    `reason` says why the model could not be reached, where it was not asked about some that were skipped.
    """

    consolidated: int = 0
    failed: int = 0
    skipped: int = 0
    reason: str = ""
