"""The facts of a person as a whole: counts, days and changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from gaia_memory.models import DayCounts, FactChange, FactCounts, Scope
from gaia_memory.ports.transaction import Transaction


class FactOverview(Protocol):
    """The part of the fact store that counts facts and lists their changes."""

    async def counts(self, tx: Transaction, scope: Scope) -> FactCounts:
        """Return how many current facts there are by label, source and day."""

    async def ids_containing(self, tx: Transaction, scope: Scope, parts: Sequence[str]) -> list[str]:
        """Return the ids of the current facts whose text contains each of these parts in any case, oldest first."""

    async def days(self, tx: Transaction, scope: Scope, *, since: datetime) -> list[DayCounts]:
        """Return the days from that of `since` on, oldest first, on which a statement was stored or ended."""

    async def changes(self, tx: Transaction, scope: Scope, *, after: int, limit: int) -> list[FactChange]:
        """Return the changes after the one with the number `after`, at most `limit`, oldest first."""

    async def last_change(self, tx: Transaction, scope: Scope) -> int:
        """Return the number of the latest change, 0 if there is none."""
