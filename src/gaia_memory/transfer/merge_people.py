"""Everybody who is known, and the merge of two user ids that belong to one person."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import InvalidInputError
from gaia_memory.facts.move_scope import merge_scopes
from gaia_memory.models import MergeResult, PendingConversation, PersonSummary, Scope
from gaia_memory.ports import Transaction

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.ledger import Ledger
    from gaia_memory.ledger.memory_stores import MemoryStores


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
            merged = await merge_scopes(self.facts, tx, scope, into)
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


class PeopleMixin:
    """The part of `Memory` that tells whom it knows and which conversations it has still to learn."""

    stores: MemoryStores

    @property
    @abstractmethod
    def config(self) -> GaiaConfig:
        """The settings in force."""

    async def pending(self, scope: Scope | None = None) -> list[PendingConversation]:
        """Return the conversations of a person, or of all, that are not learned yet, the oldest first."""
        self.stores.database.require_open()
        user, app = (None, None) if scope is None else (scope.user, scope.app)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.ledger.pending(tx, user=user, app=app)

    async def scopes(self) -> list[Scope]:
        """Return every scope that has a fact."""
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.scopes(tx)

    async def people(self) -> list[PersonSummary]:
        """Return everybody with a fact or a pending conversation, with counts, sorted by user and app."""
        return await load_people(self.stores, app_scoped=self.config.memory.scope == "app_user")


async def load_people(stores: MemoryStores, *, app_scoped: bool) -> list[PersonSummary]:
    """Return everybody with a fact or a pending conversation, sorted by user and app; no fact is read.

    Somebody who was forgotten is not among them, and no app is somebody. Unless memory is `app_scoped`, the
    conversations of all apps count for the memory that they share.
    """
    async with stores.database.read_transaction() as tx:
        people = {each.scope: each for each in await stores.facts.summaries(tx)}
        for talk in await stores.ledger.summaries(tx):
            scope = talk.scope if app_scoped else Scope(None, talk.scope.user)
            known = people.get(scope, PersonSummary(scope=scope))
            times = [each for each in (known.last_message_at, talk.last_message_at) if each is not None]
            people[scope] = replace(
                known, pending=known.pending + talk.pending, last_message_at=max(times, default=None)
            )
    known_people = [
        person for person in people.values() if (person.facts or person.pending) and not person.scope.is_app_wide
    ]
    return sorted(known_people, key=lambda person: (person.scope.user, person.scope.app or ""))
