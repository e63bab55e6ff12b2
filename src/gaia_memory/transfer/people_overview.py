"""Everybody who is known, with counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.models import PendingConversation, PersonSummary, Scope

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores


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
