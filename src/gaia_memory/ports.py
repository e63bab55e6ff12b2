"""Every border with two sides: what the rooms may rely on, whoever stands behind it.

A `Transaction` is an open SQLAlchemy connection: what several stores do with the same one is committed or
rolled back together. No transaction is held over a call to a model, a yield or a stream.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from gaia_memory.models import (
    Anchor,
    Candidate,
    Chunk,
    DirtyFact,
    Draft,
    Extracted,
    Fact,
    LedgerRow,
    Mark,
    Pending,
    Profile,
    Scope,
    ScopeState,
    SessionKey,
    StoredFact,
    StoreState,
    Talk,
    Vector,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

Transaction: TypeAlias = "AsyncConnection"


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

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a write transaction: exclusive on SQLite from its first statement, rolled back on an error."""

    def reading(self) -> AbstractAsyncContextManager[Transaction]:
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

    async def write(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> list[Fact]:
        """Store `drafts` and return the fact each became, in order.

        A draft whose normal form is already there becomes a further source of that fact (whose text stays);
        it fills in the vector when the fact has none.

        Raises:
            InvalidInputError: a text is blank, a time naive, or metadata are no flat scalars; nothing is written.
        """

    async def facts(self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0) -> list[Fact]:
        """Return current facts, oldest first."""

    async def count(self, tx: Transaction, scope: Scope) -> int:
        """Count current facts."""

    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return those of `fact_ids` that are facts of this scope; foreign and unknown ids are left out."""

    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        """Return the conversations these facts were learned from, each with the ids of the events used."""

    async def match(self, tx: Transaction, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Find facts by words, best first; a query without a usable word finds nothing."""

    async def vectors(self, tx: Transaction, scope: Scope, embedder: str) -> tuple[list[str], Any]:
        """Return ids and a float32 matrix, one row an id, of the vectors that `embedder` made."""

    async def embedder(self, tx: Transaction) -> str | None:
        """Return the identity that most vectors carry, of any scope; None without vectors."""

    async def taught_only_by(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        """Return ids of the facts whose every source is this conversation."""

    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        """Remove this conversation from the sources of facts that have others; return how many rows.

        A fact that stood at its place in this conversation moves to that of its oldest other source.
        """

    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> int:
        """Delete facts of this scope and its cached profile, say how many facts; their ids go into the outbox."""

    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        """Delete everything of this scope: facts, sources, words, vectors, cached profile, tombstones.

        Sets `forgotten_at`. Returns the rows removed by place; the key `facts` is the count of facts.
        """

    async def bury(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Leave a tombstone (a salted hash of the normal form) for each of these facts, before a delete."""

    async def buried(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Say for each text whether its normal form has a tombstone."""

    async def unbury(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> None:
        """Lift the tombstones of these texts."""

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

    async def read(self, tx: Transaction, fact_ids: Collection[str]) -> dict[str, StoredFact]:
        """Return those of `fact_ids` that are facts now, of any scope, with their vectors."""

    async def done(self, tx: Transaction, rows: Iterable[DirtyFact]) -> int:
        """Remove rows whose version is still the one given; return how many were removed."""

    async def fill_vectors(self, tx: Transaction, vectors: Mapping[DirtyFact, Vector], embedder: str) -> None:
        """Give facts a vector of `embedder`, each only while its version is unchanged.

        Versions stay; the revision of the scopes rises, because what their vectors are has changed.
        """

    async def renew(self, tx: Transaction, store_id: str) -> None:
        """Make `store_id`, an empty store, the current one: every fact becomes dirty, dead ids leave."""

    async def own(self, tx: Transaction, owner: str, *, now: float, lease: float | None) -> bool:
        """Note `owner` as the one who writes the store.

        With `lease` (seconds) it is a claim that fails while another owner's lease is running; without, the
        operating system's lock has decided already.
        """

    async def disown(self, tx: Transaction, owner: str) -> None:
        """Give the store back."""

    async def await_store(self, tx: Transaction, *, until: float) -> None:
        """Say that somebody waits for the store until then."""

    async def note_erasure(self, tx: Transaction, scope: Scope, *, now: float) -> None:
        """Note that files may hold text that was forgotten."""

    async def erasures(self, tx: Transaction) -> list[int]:
        """Return the ids of erasures that are not finished."""

    async def erased(self, tx: Transaction, erasures: Collection[int]) -> None:
        """Note that these erasures are finished."""


class Ledger(Protocol):
    """Per conversation: how far it was learned, who is at work on it, whether somebody is talking.

    `now` and all times are seconds since the epoch, from the caller's clock. An owner is `host:pid:start`.
    """

    async def row(self, tx: Transaction, key: SessionKey) -> LedgerRow | None:
        """Return the row of a conversation."""

    async def begin_turn(self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> LedgerRow:
        """Count a turn and mark the conversation active; return the row as it is after that.

        While somebody clears the conversation (`clearing` set and not expired) nothing is written: the
        returned row has `clearing` set, and the caller waits and asks again.
        """

    async def hold(self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> LedgerRow:
        """Do as `begin_turn` without counting: the conversation is about to be loaded for a turn."""

    async def renew_turn(self, tx: Transaction, key: SessionKey, *, now: float, active_seconds: float) -> None:
        """Keep a long turn active."""

    async def end_turn(self, tx: Transaction, key: SessionKey, *, now: float) -> None:
        """Mark the conversation quiet since `now`."""

    async def due(
        self, tx: Transaction, *, now: float, quiet_since: float | None, limit: int, apps: Collection[str]
    ) -> list[SessionKey]:
        """Return conversations of `apps` with something to learn or to clear, oldest first.

        Quiet since `quiet_since`, not active, not leased, not backing off, not parked. With `quiet_since` None
        idleness, back-off and parking do not count; an active turn always does.
        """

    async def claim(
        self,
        tx: Transaction,
        key: SessionKey,
        owner: str,
        *,
        now: float,
        lease_seconds: float,
    ) -> LedgerRow | None:
        """Take the lease in one statement; None while it is running, also as this owner's, or a turn is active.

        A lease of a process of this host that is gone is taken over at once.
        """

    async def renew(self, tx: Transaction, key: SessionKey, owner: str, *, now: float, lease_seconds: float) -> bool:
        """Prolong an own lease; False when it was lost."""

    async def release(self, tx: Transaction, key: SessionKey, owner: str, *, done: bool = False) -> None:
        """Give an own lease back.

        With `done` nothing is left to do for the turns it was taken for: what was learned is not to be cleared.
        """

    async def release_all(self, tx: Transaction, owner: str) -> None:
        """Give back all leases of an owner."""

    async def advance(
        self, tx: Transaction, key: SessionKey, owner: str, *, read: Mark | None, to: Mark, turns: int, now: float
    ) -> bool:
        """Move the watermark from `read` to `to` under an own lease, counting `turns` learned, clearing failures.

        False, and nothing written, when the lease or the watermark is not what the caller read. The conversation
        stays due until it is cleared or released as done.
        """

    async def failed(
        self, tx: Transaction, key: SessionKey, owner: str, *, error: str, retry_at: float, parked: bool
    ) -> None:
        """Count a failed attempt under an own lease and give the lease back."""

    async def begin_clearing(
        self, tx: Transaction, key: SessionKey, owner: str, *, turn_no: int, now: float, seconds: float
    ) -> bool:
        """Set `clearing` in one statement, where the lease is ours, the turn number as given, no turn active."""

    async def end_clearing(self, tx: Transaction, key: SessionKey, owner: str, *, cleared_at: float | None) -> None:
        """Unset `clearing`; with `cleared_at` the conversation begins anew (profile and anchor dropped)."""

    async def freeze_profile(self, tx: Transaction, key: SessionKey, *, profile: str, profile_key: str) -> None:
        """Keep the rendered profile for the rest of the session."""

    async def drop_profiles(self, tx: Transaction, *, user: str, app: str | None) -> int:
        """Drop the frozen profiles of a person's sessions, in one app or (None) in all."""

    async def anchor(self, tx: Transaction, key: SessionKey, anchor: Anchor) -> None:
        """Remember where the replay window begins."""

    async def skip(self, tx: Transaction, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events again."""

    async def skipped(self, tx: Transaction, key: SessionKey) -> set[str]:
        """Return the events never to be learned from."""

    async def bootstrapped(self, tx: Transaction, app: str) -> bool:
        """Say whether the sessions that were there before us have been entered for this app."""

    async def bootstrap(self, tx: Transaction, app: str, sessions: Mapping[SessionKey, float]) -> int:
        """Enter sessions with the time they were last touched, once an app; return how many were new."""

    async def pending(self, tx: Transaction, *, user: str | None, app: str | None) -> list[Pending]:
        """Return conversations with something unlearned, oldest first."""


class Transcript(Protocol):
    """What was said, as the host keeps it."""

    clears_by: Literal["delete", "rewind"]
    """How this host's sessions may be cleared: deleting is safe only where every turn is ours."""

    async def sessions(self) -> dict[SessionKey, float]:
        """Return all sessions with the time each was last touched."""

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> Talk | None:
        """Return what was said after a mark, as turns numbered from `turns_before` + 1.

        Only user and model text: no thoughts, partials, calls, responses, commands, private turns, rewound
        or other-branch events. None when there is no such session.
        """

    async def clear(self, talk: Talk, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; False, and nothing changed, when somebody spoke since."""


class Extractor(Protocol):
    """Asks a model which facts a piece of talk holds."""

    async def extract(self, chunk: Chunk, *, instructions: str) -> list[Extracted]:
        """Return the facts of a chunk; an empty list only for a well-formed "nothing to learn".

        Raises:
            ModelUnavailableError: the model could not be reached.
            BadAnswerError: its answer is blank, blocked, cut or of another form.
        """


class Embedder(Protocol):
    """Turns text into vectors."""

    @property
    def identity(self) -> str:
        """Provider, model and dimensions, as `provider/model/dimensions`: vectors of two identities never mix."""

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        """Return one vector a text.

        Raises:
            ModelError: it could not.
        """


class LanguageModel(Protocol):
    """Answers one prompt with text."""

    @property
    def identity(self) -> str:
        """Provider and model, as `provider/model`."""

    async def complete(self, prompt: str, *, system: str) -> str:
        """Return the whole answer.

        Raises:
            ModelUnavailableError: the model could not be reached.
            BadAnswerError: its answer is blank, blocked or cut.
        """


class Retriever(Protocol):
    """Finds candidates for a query, in one way."""

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return candidates of this scope, best first."""


class Follower(Protocol):
    """Brings the mem0 store to the state of the database."""

    def wake(self) -> None:
        """Say that there may be something to follow."""

    async def settled(self, *, stall_seconds: float = 60.0) -> None:
        """Return when the ids dirty at the call are applied and no erasure is pending, whoever owns the store.

        Raises:
            StoreStalledError: no progress for `stall_seconds`; it names the owner.
        """


class ProjectsProvider(Protocol):
    """A hook for hosts that know what a person works on."""

    async def recent(self, scope: Scope) -> Sequence[str]:
        """Return one line a project, newest first."""
