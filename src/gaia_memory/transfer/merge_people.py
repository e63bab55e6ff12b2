"""Makes two user ids of one person one memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import MergeResult, Scope
from gaia_memory.ports import Database, FactStore, Ledger, Outbox, Transaction


@dataclass(frozen=True, slots=True)
class Merger:
    """Moves all of one scope's memory to another, in one transaction: all of it or, after an error, nothing."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox

    async def merge(self, scope: Scope, into: Scope, *, known_users: Collection[str], now: datetime) -> MergeResult:
        """Move what is known of `scope`; a second time there is nothing left to move.

        `into` may be somebody whom memory has not met, if `known_users` holds their user id: else it may be a slip.

        Raises:
            InvalidInputError: both are one person, one of them is unknown, or talk of one waits to be learned.
        """
        if scope == into:
            raise InvalidInputError(f"{scope.user!r} was to be merged into itself: name two different user ids")
        async with self.database.transaction() as tx:
            for each in sorted((scope, into), key=lambda it: it.partition):
                await self._require_mergeable(tx, each, is_known_user=each == into and into.user in known_users)
            merged = await self.facts.merge(tx, scope, into)
            # What was forgotten of sessions: else an older export would bring it back under the other id.
            for key, until in (await self.ledger.forgotten_sessions(tx, user=scope.user, app=scope.app)).items():
                await self.ledger.forget_session(tx, user=into.user, app=key.app, session=key.session, said_until=until)
            for each in (scope, into):
                await self.ledger.drop_profiles(tx, user=each.user, app=each.app)
            if merged.dropped:
                await self.outbox.record_erasure(tx, scope, now=now.timestamp())
        return merged

    async def _require_mergeable(self, tx: Transaction, scope: Scope, *, is_known_user: bool) -> None:
        state = await self.facts.state(tx, scope)
        waiting = await self.ledger.pending(tx, user=scope.user, app=scope.app)
        if waiting:
            raise InvalidInputError(
                f"talk of {scope.user!r} waits to be learned ({len(waiting)} in all), and would be learned apart: "
                "learn it first (`gaia sweep --force`), then merge"
            )
        has_history = state.revision > 0 or await self.ledger.count_open_sessions(tx, user=scope.user, app=scope.app)
        if not has_history and not is_known_user:
            app_note = "" if scope.app is None else f" in the app {scope.app!r}"
            raise InvalidInputError(
                f"nothing is known of {scope.user!r}{app_note}: pass a user id that memory has met; "
                "the one that facts are moved to may also be new, if it stands under `people.users`"
            )
