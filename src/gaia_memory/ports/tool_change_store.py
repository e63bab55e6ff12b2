"""What tools changed, as the database notes it until it may no longer be taken back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Protocol

from gaia_memory.models import Fact, NotedChange, Scope, SessionKey, ToolTurn
from gaia_memory.ports.transaction import Transaction


class ToolChanges(Protocol):
    """The part of the fact store that notes what tools change, and takes it back."""

    async def before_change(
        self, tx: Transaction, scope: Scope, *, fact_id: str | None = None, text: str = ""
    ) -> dict[str, Any]:
        """Return a fact, by its id or text, for `note_change`; empty if it is not stored."""

    async def stored_rows(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Any]:
        """Return all that is stored of facts of this scope."""

    async def note_change(
        self, tx: Transaction, scope: Scope, turn: ToolTurn, fact_id: str, before: Mapping[str, Any], *, now: datetime
    ) -> bool:
        """Note what a tool did to a fact, unless it is as it was `before`, or was made and forgotten in this turn.

        Of one that is forgotten, `before` has the stored rows, `number` and perhaps `erase_at`, until which they are
        kept; return whether they are.
        """

    async def noted_changes(
        self, tx: Transaction, scope: Scope, key: SessionKey, invocation_id: str | None = None
    ) -> list[NotedChange]:
        """Return what is noted of a turn of a conversation, by default the last one that has any, oldest first."""

    async def take_back(self, tx: Transaction, scope: Scope, noted: NotedChange, *, now: datetime) -> bool:
        """Delete the note and return whether the change could be taken back.

        Of a fact that was remembered, only what it ended is taken back.
        """

    async def withdrawn(self, tx: Transaction, scope: Scope) -> list[Fact]:
        """Return the facts that tools have forgotten and that are not erased yet."""

    async def drop_withdrawn(
        self, tx: Transaction, scope: Scope, *, fact_id: str | None = None, session_id: str | None = None
    ) -> int:
        """Delete those of them with this id or a source in this conversation, by default all; return how many."""
