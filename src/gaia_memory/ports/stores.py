"""The truth and the store that follows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_memory.models import (
    AddResult,
    Candidate,
    DirtyFact,
    Draft,
    Fact,
    FactPredicate,
    IndexedFact,
    MergeResult,
    NewFact,
    Origin,
    Profile,
    Scope,
    ScopeState,
    SessionKey,
    StoredFact,
    StoreState,
    Vector,
)
from gaia_memory.ports.transaction import Transaction

if TYPE_CHECKING:
    from gaia_memory.ports.ledger import Ledger


class Clock(Protocol):
    """The time, so that tests can set it."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""


class Database(Protocol):
    """The memory database."""

    @property
    def is_local(self) -> bool:
        """Whether it is a file of this machine, which no process of another one can reach."""
        ...

    def require_open(self) -> None:
        """Return only until it is closed.

        Raises:
            MemoryClosedError: it was closed, and does not open again.
        """

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a write transaction: exclusive on SQLite from its first statement, rolled back on an error."""

    def read_transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a short read transaction that sees one state of the database."""

    async def scrub(self) -> bool:
        """Rewrite what still holds deleted text: index segments, write-ahead log.

        Returns False while another reader or process keeps the old pages in use: call again later.
        """


class FactStore(Protocol):
    """The facts: the truth about every person.

    Each write raises the scope's `revision` by one, keeps the keyword index in step and puts the ids it
    touched into the outbox, all in the caller's transaction.
    """

    async def state(self, tx: Transaction, scope: Scope) -> ScopeState:
        """Return the scope's revision and `forgotten_at`; zeros for a scope nobody wrote to.

        In a write transaction both stay as they are until its end.
        """

    async def write(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> AddResult:
        """Store `drafts` and return the fact each became, in order, and whether it is new.

        A draft whose normal form is already there becomes a further source of that fact (whose text stays);
        it fills in the vector when the fact has none.

        Raises:
            InvalidInputError: a text is blank, a time naive, or metadata are no flat scalars; nothing is written.
        """

    async def facts(self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0) -> list[Fact]:
        """Return current facts, oldest first."""

    async def count(self, tx: Transaction, scope: Scope) -> int:
        """Count current facts."""

    async def ids_matching(self, tx: Transaction, scope: Scope, predicate: FactPredicate) -> list[str]:
        """Return the ids of the current facts for which `predicate` is true, oldest first."""

    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return those of `fact_ids` that are facts of this scope; foreign and unknown ids are left out."""

    async def neighbours_of(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], turn_distance: int
    ) -> list[Fact]:
        """Return these facts and what stands up to `turn_distance` turns beside them in the same conversation.

        In order.
        """

    async def idf(self, tx: Transaction, scope: Scope, words: Sequence[Collection[str]]) -> list[float]:
        """Return how rare each set of words that say the same is in this scope: its idf, 0 when no fact holds it."""

    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        """Return the conversations these facts were learned from, each with the ids of the events used."""

    async def origins(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None = None
    ) -> dict[str, list[Origin]]:
        """Return the sources of these facts of a scope, or of all, by the fact's id, oldest first."""

    async def match(self, tx: Transaction, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Find facts by words, best first; a query without a usable word finds nothing."""

    async def ids(self, tx: Transaction, scope: Scope) -> list[str]:
        """Return the ids of all current facts."""

    async def indexed_facts(self, tx: Transaction, scope: Scope, *, since_revision: int = -1) -> list[IndexedFact]:
        """Return what recall compares of every current fact changed after `since_revision`."""

    async def years(self, tx: Transaction, scope: Scope) -> list[int]:
        """Return the years, in UTC, from the first to the last moment at which a fact was said."""

    async def said_between(
        self, tx: Transaction, scope: Scope, spans: Sequence[tuple[datetime, datetime]], *, limit: int
    ) -> list[str]:
        """Return ids of facts said in one of these spans, the latest first; a span ends before its second moment."""

    async def vectors(self, tx: Transaction, scope: Scope, embedder: str) -> tuple[list[str], Any]:
        """Return ids and a float32 matrix, one row an id, of the vectors that `embedder` made."""

    async def dominant_embedder(self, tx: Transaction) -> str | None:
        """Return the identity that most vectors carry, of any scope; None without vectors."""

    async def are_embedded(self, tx: Transaction, scope: Scope, texts: Sequence[str], embedder: str) -> list[bool]:
        """Say for each text whether it is a fact of this scope with a vector that `embedder` made."""

    async def merge(self, tx: Transaction, scope: Scope, into: Scope) -> MergeResult:
        """Move every fact and tombstone of `scope` to `into`; ids stay, and what both know stands once."""

    async def sourced_only_from(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        """Return ids of the facts whose every source is this conversation."""

    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        """Remove this conversation from the sources of facts that have others; return how many rows.

        A fact that stood at its place in this conversation moves to that of its oldest other source.
        """

    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        """Delete facts of this scope and its cached profile; their ids go into the outbox.

        Returns the rows removed by place; the key `facts` is the count of facts.
        """

    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        """Delete everything of this scope: facts, sources, words, vectors, cached profile, tombstones.

        Sets `forgotten_at`. Returns the rows removed by place; the key `facts` is the count of facts.
        """

    async def add_tombstones(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, said_until: float
    ) -> None:
        """Leave a tombstone (a salted hash of the normal form) for each of these facts, before a delete.

        Hashes of their telling words stay, too: they hold for what was said up to `said_until` (seconds, wall clock).
        """

    async def have_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Say for each text whether its normal form has a tombstone."""

    async def paraphrases_forgotten(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Say for each fact whether it tells, maybe in other words, what was buried after it was said."""

    def mentions(self, user_text: str, text: str) -> bool:
        """Say whether what somebody says shares a word with a text that tells what that is about."""
        ...

    async def remove_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> None:
        """Lift the tombstones of these texts, and of what else they tell."""

    async def cached_profile(self, tx: Transaction, scope: Scope) -> Profile | None:
        """Return the last profile made for this scope."""

    async def cache_profile(self, tx: Transaction, scope: Scope, profile: Profile) -> bool:
        """Keep a profile; False, and nothing written, when the scope's revision is no longer the profile's."""

    async def scopes(self, tx: Transaction) -> list[Scope]:
        """Return every scope that holds a fact."""


class Outbox(Protocol):
    """What the mem0 store still has to follow, and which store that is."""

    async def store(self, tx: Transaction) -> StoreState:
        """Return the current store, its lag and its owner."""

    async def dirty(self, tx: Transaction, *, limit: int) -> list[DirtyFact]:
        """Return the oldest dirty ids."""

    async def load_facts(self, tx: Transaction, fact_ids: Collection[str]) -> dict[str, StoredFact]:
        """Return those of `fact_ids` that are facts now, of any scope, with their vectors."""

    async def synced_facts(self, tx: Transaction, *, after: str, limit: int) -> list[StoredFact]:
        """Return facts that wait for nothing, of any scope, by id: those behind the id `after`."""

    async def acknowledge(self, tx: Transaction, rows: Iterable[DirtyFact]) -> int:
        """Remove rows whose version is still the one given; return how many were removed."""

    async def backfill_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> None:
        """Give facts a vector of `embedder`, each only while its version is unchanged.

        Versions stay; the revision of the scopes rises, because what their vectors are has changed.
        """

    async def reset_store(self, tx: Transaction, store_id: str) -> None:
        """Make `store_id`, an empty store, the current one: every fact becomes dirty, dead ids leave."""

    async def claim_store(
        self, tx: Transaction, owner: str, *, now: float, lease_seconds: float | None, dead_owner: str | None = None
    ) -> bool:
        """Note `owner` as the one who writes the store.

        With `lease_seconds` (seconds) it is a claim that fails while another owner's lease is running, unless that is
        `dead_owner`, who has ended; without, the operating system's lock has decided already.
        """

    async def release_store(self, tx: Transaction, owner: str) -> None:
        """Give the store back."""

    async def register_waiter(self, tx: Transaction, *, until: float) -> None:
        """Say that somebody waits for the store until then."""

    async def record_erasure(self, tx: Transaction, scope: Scope, *, now: float) -> None:
        """Note that files may hold text that was forgotten."""

    async def pending_erasures(self, tx: Transaction) -> list[int]:
        """Return the ids of erasures that are not finished."""

    async def finish_erasures(self, tx: Transaction, erasures: Collection[int]) -> None:
        """Note that these erasures are finished."""


class Indexes(Protocol):
    """The keyword index and the vectors, as what can be made anew from the facts."""

    async def count_outdated(self, tx: Transaction) -> int:
        """Count the facts whose words another version of this package took into the keyword index."""

    async def begin_keyword_rebuild(self, tx: Transaction, *, from_scratch: bool) -> tuple[int, int]:
        """Begin to rebuild the keyword index, or go on with what was not ended; `from_scratch` does not.

        Returns how many facts are done already, and how many there are.
        """

    async def rebuild_keywords(self, tx: Transaction, *, limit: int) -> int | None:
        """Take the next facts, at most `limit`, out of the index and in again; return how many, None at the end."""

    async def ids_without_vector_of(self, tx: Transaction, embedder: str) -> list[str]:
        """Return the ids of facts, of any scope, that have no vector, or one of another embedder; oldest first."""

    async def replace_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> int:
        """Give facts a vector of `embedder` in place of what they have; return how many were as given until then.

        They are changed facts to the store that follows.
        """


class Follower(Protocol):
    """Brings the mem0 store to the state of the database."""

    @property
    def is_ready(self) -> bool:
        """Whether it has tried to own the store."""
        ...

    @property
    def is_owner(self) -> bool:
        """Whether this process writes the store."""
        ...

    @property
    def mem0(self) -> Any:
        """The `mem0.Memory` over the store, for reading.

        Raises:
            StoreNotOwnedError: another process owns the store, or it cannot be read at the moment.
        """
        ...

    def start(self) -> None:
        """Start to follow, unless that was done before."""

    def wake(self) -> None:
        """Say that there may be something to follow."""

    async def quarantined_stores(self) -> list[str]:
        """Return where stores stand that something else had filled and that were set aside, as far as is known here."""

    async def settled(self, *, stall_seconds: float = 60.0) -> None:
        """Return when the ids dirty at the call are applied and no erasure is pending, whoever owns the store.

        Raises:
            StoreStalledError: no progress for `stall_seconds`; it names the owner.
        """


class MemoryStores(NamedTuple):
    """The memory database and the three stores in it, which share its transactions."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox
