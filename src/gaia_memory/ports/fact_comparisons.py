"""The keys of facts, the queue of facts that wait to be compared, and what was compared already."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from gaia_memory.models import Draft, Fact, PairingState, Scope, UndecidedFact
from gaia_memory.ports.transaction import Transaction


class UndecidedFacts(Protocol):
    """The part of the fact store that knows which facts are still to be compared with others of their scope."""

    async def queue_undecided(self, tx: Transaction, scope: Scope, undecided: Sequence[UndecidedFact]) -> None:
        """Add facts to the end of the queue; one that waits already keeps its place."""

    async def undecided(self, tx: Transaction, scope: Scope) -> list[UndecidedFact]:
        """Return all that waits in this scope, the first queued one first."""

    async def count_undecided(self, tx: Transaction, scope: Scope) -> int:
        """Count the facts of this scope that wait."""

    async def last_undecided(self, tx: Transaction) -> int:
        """Return the last place in the queue of all scopes; 0 if nothing waits."""

    async def undecided_scopes(self, tx: Transaction, *, now: float, last: int) -> list[Scope]:
        """Return the scopes with something due up to the place `last`, the first queued one first."""

    async def drop_undecided(self, tx: Transaction, scope: Scope, row: int) -> None:
        """Remove a row from the queue."""

    async def postpone_undecided(self, tx: Transaction, scope: Scope, row: int, *, attempts: int, until: float) -> None:
        """Leave a row in the queue, and out of what is due until then."""

    async def note_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> None:
        """Store that a model has compared a fact with others."""

    async def find_compared(self, tx: Transaction, scope: Scope, fact: Fact, others: Sequence[Fact]) -> set[str]:
        """Return the ids of those others that a model has compared with a fact, both with their present texts."""

    async def count_compared(self, tx: Transaction, scope: Scope) -> int:
        """Count the pairs of facts that a model has compared."""

    async def count_replaced(self, tx: Transaction, scope: Scope) -> int:
        """Count the endings of facts of this scope that another one has replaced."""

    async def scopes_to_pair(self, tx: Transaction, *, before: float, limit: int) -> list[Scope]:
        """Return scopes whose facts changed since they were compared in pairs, if that was not after `before`."""

    async def pairing_state(self, tx: Transaction, scope: Scope) -> PairingState:
        """Return how far the facts of a scope were compared in pairs."""

    async def changed_facts(self, tx: Transaction, scope: Scope, *, since: int, limit: int) -> dict[str, int]:
        """Return ids and versions of current facts with a version above `since`, the lowest versions first."""

    async def note_pairing(self, tx: Transaction, scope: Scope, state: PairingState) -> None:
        """Store how far the facts of a scope were compared in pairs."""

    async def claim_reconciling(
        self, tx: Transaction, scope: Scope, owner: str, *, now: float, until: float, dead_owner: str | None = None
    ) -> str:
        """Take or renew the lease on comparing the facts of a scope; return who has it then.

        It stays with another owner until it runs out, unless that is `dead_owner`.
        """
        ...

    async def release_reconciling(self, tx: Transaction, scope: Scope, owner: str) -> None:
        """Give the lease back."""

    async def settle_keys(
        self, tx: Transaction, scope: Scope, sayings: Sequence[tuple[str, str, datetime | None]], *, now: datetime
    ) -> frozenset[str]:
        """Let one current fact of a context have each key, after sayings of facts were written.

        A saying is the id of a fact, who said it, and when; None counts a current fact as said when it was said last.
        What was said later than the others of its key, or at the same time but written later, replaces them; what was
        said earlier goes to history. What nobody confirmed ends nothing that is confirmed, and is kept without its key.
        Facts that begin to hold later are left for `begin`. Return the facts that were current and were replaced.
        """
        ...

    async def meet_keys(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft]) -> list[bool]:
        """Return for each draft whether a current fact of its context, or another of the drafts, has its key."""
        ...

    async def known_keys(self, tx: Transaction, scope: Scope, *, limit: int) -> list[str]:
        """Return keys of current facts that are not sensitive, the last said first."""
        ...

    async def doubt(self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, since: datetime) -> int:
        """Mark current facts as in doubt unless they are already; return how many were marked."""
