"""The facts that are due, and the record of which were announced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from gaia_memory.models import Fact, Scope
from gaia_memory.ports.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DueFact:
    """A fact that was first due by now, with what is on record: the time announced last, and whether that was done."""

    fact: Fact
    version: int
    claimed_for: datetime | None = None
    is_announced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to announce a fact for the time `due_at` until `until`, and when to look at the fact next.

    Without an `owner`, nothing is announced and only the rest is put on record.
    """

    due_at: datetime
    next_at: datetime | None
    owner: str | None = None
    until: datetime | None = None


class DueFacts(Protocol):
    """The part of the fact store that finds facts by when they are due."""

    async def due(self, tx: Transaction, scope: Scope, *, until: datetime) -> list[Fact]:
        """Return the facts first due up to `until`, but for those without a recurrence that are done."""

    async def to_announce(
        self, tx: Transaction, *, apps: Collection[str], now: datetime, since: datetime, limit: int
    ) -> list[DueFact]:
        """Return facts that may have to be announced, of all users of these apps and of users without an app.

        They were first due between `since` and `now`, or earlier if they come back. Left out are those that are done,
        were announced and not changed since, or that a running claim is for.
        """

    async def claim_announcement(self, tx: Transaction, due: DueFact, claim: Claim, *, now: datetime) -> bool:
        """Put a claim on record; False if another one runs, it was announced, or the fact has changed meanwhile."""

    async def finish_announcement(
        self, tx: Transaction, fact: Fact, owner: str, *, announced_at: datetime | None, retry_at: datetime
    ) -> None:
        """Record that the claimed time was announced; with None, let anybody claim it again at `retry_at`."""
