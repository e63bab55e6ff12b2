"""The facts, the database they live in, and the mem0 store that follows them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from gaia_memory.models import (
    AddResult,
    Draft,
    Fact,
    FactPredicate,
    IndexedFact,
    MergeResult,
    NewFact,
    Origin,
    PersonSummary,
    Profile,
    Scope,
    ScopeState,
    SessionKey,
)
from gaia_memory.ports.due_store import DueFacts
from gaia_memory.ports.fact_comparisons import UndecidedFacts
from gaia_memory.ports.fact_overview import FactOverview
from gaia_memory.ports.past_facts import FactHistory
from gaia_memory.ports.shown_store import ShownFacts
from gaia_memory.ports.tool_change_store import ToolChanges
from gaia_memory.ports.transaction import Transaction


class Clock(Protocol):
    """The time, so that tests can set it."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""


class SystemClock:
    """The time of the machine."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class FactStore(FactHistory, FactOverview, DueFacts, ShownFacts, UndecidedFacts, ToolChanges, Protocol):
    """The facts: the truth about every person.

    A stored fact is current while it holds: from its `valid_from` until before its `valid_until`.

    Each write raises the scope's `revision` by one and puts the ids of changed facts into the outbox, in the caller's
    transaction.
    """

    async def state(self, tx: Transaction, scope: Scope) -> ScopeState:
        """Return the scope's revision and `forgotten_at`; zeros for a scope without any writes.

        In a write transaction neither changes until its end.
        """

    async def write(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> AddResult:
        """Store `drafts` and return the fact each became, in order, and whether it is new.

        A draft whose normal form is already stored becomes a further source of that fact, whose text stays. If it was
        said later, by `said_at` (else `created_at`), date, conversation and metadata are those of the draft; otherwise
        it only adds what the fact lacks. What a model wrote is a source and changes nothing. A draft also supplies the
        vector when the fact has none.

        Raises:
            InvalidInputError: a text is blank, a time is naive, metadata are not flat scalars, or `seq` does not fit
                into 64 bits. Nothing is written.
        """

    async def facts(
        self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0, all_stored: bool = False
    ) -> list[Fact]:
        """Return current facts, oldest first; with `all_stored` also those that have expired or not begun to hold."""

    async def count(self, tx: Transaction, scope: Scope, *, all_stored: bool = False) -> int:
        """Count current facts; with `all_stored` also those that have expired or not begun to hold."""

    async def count_marked(self, tx: Transaction, scope: Scope, name: str) -> int:
        """Count current facts in whose metadata `name` is true."""

    async def ids_matching(self, tx: Transaction, scope: Scope, predicate: FactPredicate) -> list[str]:
        """Return the ids of the current facts for which `predicate` is true, oldest first."""

    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts of this scope with these ids; ids of other scopes and unknown ids are left out."""

    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        """Return the conversations these facts were learned from, each with the ids of the events used."""

    async def origins(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None = None
    ) -> dict[str, list[Origin]]:
        """Return the sources of these facts, current or past, or of all, by the fact's id, oldest first."""

    async def ids(self, tx: Transaction, scope: Scope) -> list[str]:
        """Return the ids of all stored facts, whatever their validity."""

    async def indexed_facts(self, tx: Transaction, scope: Scope, *, since_revision: int = -1) -> list[IndexedFact]:
        """Return the values that recall compares, of every stored fact changed after `since_revision`."""

    async def vectors(
        self, tx: Transaction, scope: Scope, embedder: str, *, since_revision: int = -1
    ) -> tuple[list[str], Any]:
        """Return ids and a float32 matrix with one row per id, of the vectors that `embedder` made for stored facts.

        With `since_revision`, of facts changed after it; a vector that was only filled in changes no fact.
        """

    async def dominant_embedder(self, tx: Transaction) -> str | None:
        """Return the embedder that made most vectors of all scopes; None without vectors."""

    async def has_other_vectors(self, tx: Transaction, scope: Scope, embedder: str) -> bool:
        """Return whether facts of this scope carry vectors that another embedder has made."""

    async def embedders(self, tx: Transaction) -> dict[str, int]:
        """Return how many vectors of all scopes each embedder has made."""

    async def merge(self, tx: Transaction, scope: Scope, into: Scope) -> MergeResult:
        """Move every fact of `scope`, with its sources and tombstones, to `into`; ids stay.

        A fact that both know is stored once, with the sources of both. Facts that `into` has forgotten are dropped, and
        `into` has then forgotten whatever either scope had.
        """

    async def copies(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        fact_ids: Collection[str] | None = None,
        session_id: str | None = None,
        past: bool = False,
    ) -> dict[Scope, list[str]]:
        """Return the ids of facts that imports made in other scopes from facts of this one, by their scope.

        With `fact_ids` those made from these facts, with `session_id` those that name that conversation; the facts may
        be gone by now. These are the current ones or, if `past`, those that have ended there.
        """

    async def drop_copied_sources(
        self,
        tx: Transaction,
        scope: Scope,
        fact_ids: Collection[str],
        *,
        of: Scope,
        origin_ids: Collection[str] | None = None,
        session_id: str | None = None,
    ) -> list[str]:
        """Remove from facts of `scope` the sources that make them `copies`; return the ids of those without others.

        A fact with other sources moves to the position of the oldest of them. Those without others are not changed.
        """

    async def sourced_only_from(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        """Return the ids of facts whose only source is this conversation."""

    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        """Remove this conversation from the sources of facts that have others; return how many rows.

        A fact positioned in this conversation moves to the position of its latest remaining source.
        """

    async def clear_excerpts(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Empty the excerpt of every source in this scope that shares an event with a source of these facts."""

    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        """Delete facts of this scope and its cached profile; their ids go into the outbox.

        Returns the number of rows removed by kind; the key `facts` counts the facts.
        """

    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        """Delete everything of this scope: facts, sources, words, vectors, cached profile, tombstones.

        Sets `forgotten_at`. Returns the number of rows removed by kind; the key `facts` counts the facts.
        """

    async def add_tombstones(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, said_until: float
    ) -> None:
        """Leave a tombstone (a salted hash of the normal form) for each of these facts; call it before `delete`.

        Those of their distinctive words apply to statements made up to `said_until` (seconds, wall clock).
        """

    async def have_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether its normal form has a tombstone."""

    async def paraphrases_forgotten(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Return for each fact whether it repeats, perhaps in other words, a fact forgotten after it was said."""

    def mentions(self, user_text: str, text: str) -> bool:
        """Return whether `user_text` shares a distinctive word with `text`; any word if `text` has no such word."""
        ...

    async def remove_tombstones(
        self, tx: Transaction, scope: Scope, texts: Sequence[str], fact_ids: Collection[str] = ()
    ) -> None:
        """Remove the tombstones of these texts and of the facts they paraphrase, and the marks of these ids."""

    async def cached_profile(self, tx: Transaction, scope: Scope, fingerprint: str | None = None) -> Profile | None:
        """Return the profile of this scope with a fingerprint; without one, the last that was made."""

    async def cache_profile(self, tx: Transaction, scope: Scope, profile: Profile) -> bool:
        """Store a profile beside the last few; False, and nothing written, unless it is of the scope's revision."""

    async def scopes(self, tx: Transaction) -> list[Scope]:
        """Return every scope that has a current fact."""

    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        """Return every scope that has a current fact, with their number and the time of the last change."""


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
        """Notify the follower of new changes."""

    async def foreign_stores(self) -> list[str]:
        """Return the folders of stores that another database has filled; no forget reaches them."""

    async def settled(self, *, stall_seconds: float = 60.0) -> None:
        """Wait until the ids dirty at the call are applied and no erasure is pending, whoever owns the store.

        Raises:
            StoreStalledError: no progress for `stall_seconds`; it names the owner.
        """
