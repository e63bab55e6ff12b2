"""Merges the memories of two user ids that belong to one person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import MergeResult, Scope
from gaia_memory.ports import FactStore, Transaction

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Merger:
    """Moves the memory of one scope to another in one transaction, which an error rolls back as a whole."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox

    async def merge(self, scope: Scope, into: Scope, *, known_users: Collection[str], now: datetime) -> MergeResult:
        """Move everything known about `scope` to `into`; repeating the call moves nothing.

        A user id that memory does not know yet must be in `known_users` to be the target: otherwise it could be a typo.

        Raises:
            InvalidInputError: both scopes are the same, one is unknown or that of an app, or one has conversations that
                are not learned.
        """
        if scope.is_app_wide or into.is_app_wide:
            raise InvalidInputError("the facts of an app are no person's: pass two user ids, or export and import them")
        if scope == into:
            raise InvalidInputError(f"{scope.user!r} cannot be merged into itself: pass two different user ids")
        async with self.database.transaction() as tx:
            for each in sorted((scope, into), key=lambda it: it.partition):
                await self._require_mergeable(tx, each, is_known_user=each == into and into.user in known_users)
            merged = await self.facts.merge(tx, scope, into)
            # Keep forgotten sessions forgotten: an older export could bring them back under the other id.
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
                f"conversations of {scope.user!r} are not learned yet ({len(waiting)} in all) and would be learned "
                "separately: run `gaia sweep --force`, then merge"
            )
        has_history = state.revision > 0 or await self.ledger.open_sessions(tx, user=scope.user, app=scope.app)
        if not has_history and not is_known_user:
            app_note = "" if scope.app is None else f" in the app {scope.app!r}"
            raise InvalidInputError(
                f"nothing is known about {scope.user!r}{app_note}: pass a known user id; the target may also be a new "
                "one from `people.users`"
            )
