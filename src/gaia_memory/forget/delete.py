"""Forgets facts in one transaction. Files are rewritten afterwards, in the background.

When one of these methods returns, no read shows the facts, and the earlier messages are never learned again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from gaia_memory.models import Fact, PendingConversation, Receipt, Scope
from gaia_memory.ports import Database, FactStore, Ledger, Outbox, Transaction

OPEN_SESSION_NOTE = "messages in an open session stay there until that session is cleared"
"""The note of a receipt while the user has an open session, which forgetting does not clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """The data that a `forget` would affect, read in one transaction.

    `session_fact_ids` are the facts learned only from the named conversation, `pending_erasures` the earlier forgets
    whose text may still be in a file. `was_written` is true once anything was stored or forgotten for the scope.
    """

    facts: tuple[Fact, ...]
    session_fact_ids: tuple[str, ...]
    pending: tuple[PendingConversation, ...]
    pending_erasures: int
    was_written: bool


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Removes a user's facts: all, one, or those learned only from one conversation."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox

    async def preview(self, scope: Scope, session_id: str | None) -> ForgetPreview:
        """Return the data that a forget would affect; change nothing."""
        async with self.database.read_transaction() as tx:
            only = () if session_id is None else await self.facts.sourced_only_from(tx, scope, session_id)
            return ForgetPreview(
                facts=tuple(await self.facts.facts(tx, scope)),
                session_fact_ids=tuple(only),
                pending=tuple(await self.ledger.pending(tx, user=scope.user, app=scope.app)),
                pending_erasures=len(await self.outbox.pending_erasures(tx)),
                was_written=(await self.facts.state(tx, scope)).revision > 0,
            )

    async def forget(
        self, scope: Scope, *, fact_id: str | None, session_id: str | None, now: datetime, said_until: float
    ) -> Receipt:
        """Forget one fact, the facts of one conversation or, if neither is given, everything."""
        if fact_id is not None:
            return await self.forget_fact(scope, fact_id, now=now, said_until=said_until)
        if session_id is not None:
            return await self.forget_conversation(scope, session_id, now=now, said_until=said_until)
        return await self.forget_all(scope, now=now, said_until=said_until)

    async def forget_all(self, scope: Scope, *, now: datetime, said_until: float) -> Receipt:
        """Forget a whole scope. Messages up to `said_until` (the host's wall clock) are never learned."""
        async with self.database.transaction() as tx:
            removed = dict(await self.facts.delete_all(tx, scope, forgotten_at=said_until))
            removed["profiles"] = removed.get("profiles", 0) + await self._drop_profiles(tx, scope)
            pending = await self._record_erasure(tx, scope, now, is_needed=any(removed.values()))
            notes = await self._notes(tx, scope)
        return _receipt(removed, pending, notes)

    async def forget_fact(self, scope: Scope, fact_id: str, *, now: datetime, said_until: float) -> Receipt:
        """Forget one fact and never learn it again from its source messages.

        It is not learned in any wording from other messages up to `said_until` (the host's wall clock) either.
        """
        async with self._locked_scope(scope) as tx:
            found = await self.facts.get(tx, scope, [fact_id])
            if not found:
                return Receipt(count=0)
            await self.facts.add_tombstones(tx, scope, found, said_until=said_until)
            removed = await self._remove(tx, scope, found)
            pending = await self._record_erasure(tx, scope, now, is_needed=True)
            notes = await self._notes(tx, scope)
        return _receipt(removed, pending, notes)

    async def forget_conversation(self, scope: Scope, session_id: str, *, now: datetime, said_until: float) -> Receipt:
        """Forget the facts learned only from this conversation; facts with other sources lose this source.

        Its messages up to `said_until` (the host's wall clock) are never learned, and imports do not restore its facts.
        """
        async with self._locked_scope(scope) as tx:
            fact_ids = await self.facts.sourced_only_from(tx, scope, session_id)
            apps = {key.app for key in await self.facts.sources(tx, scope, fact_ids)}
            removed = await self._remove(tx, scope, fact_ids) if fact_ids else {}
            removed["sources"] = removed.get("sources", 0) + await self.facts.drop_source(tx, scope, session_id)
            # With memory across apps, an app without a ledger row is known only as a source of facts.
            for app in (scope.app, *sorted(apps)):
                await self.ledger.forget_session(
                    tx, user=scope.user, app=app, session=session_id, said_until=said_until
                )
            pending = await self._record_erasure(tx, scope, now, is_needed=any(removed.values()))
            notes = await self._notes(tx, scope)
        return _receipt(removed, pending, notes)

    @asynccontextmanager
    async def _locked_scope(self, scope: Scope) -> AsyncIterator[Transaction]:
        """Open a transaction that locks the scope, so that the facts read in it are those deleted.

        On a server, a concurrent learner could otherwise commit between the read and the delete.
        """
        async with self.database.transaction() as tx:
            await self.facts.state(tx, scope)
            yield tx

    async def _remove(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        for key, event_ids in (await self.facts.sources(tx, scope, fact_ids)).items():
            await self.ledger.skip_events(tx, key, event_ids)
        removed = await self.facts.delete(tx, scope, fact_ids)
        return removed | {"profiles": removed["profiles"] + await self._drop_profiles(tx, scope)}

    async def _notes(self, tx: Transaction, scope: Scope) -> tuple[str, ...]:
        has_open_sessions = await self.ledger.count_open_sessions(tx, user=scope.user, app=scope.app)
        return (OPEN_SESSION_NOTE,) if has_open_sessions else ()

    async def _drop_profiles(self, tx: Transaction, scope: Scope) -> int:
        return await self.ledger.drop_profiles(tx, user=scope.user, app=scope.app)

    async def _record_erasure(self, tx: Transaction, scope: Scope, now: datetime, *, is_needed: bool) -> bool:
        if is_needed:
            await self.outbox.record_erasure(tx, scope, now=now.timestamp())
        return is_needed or bool(await self.outbox.pending_erasures(tx))


def _receipt(removed: dict[str, int], pending: bool, notes: tuple[str, ...]) -> Receipt:
    count = removed.pop("facts", 0)
    return Receipt(count=count, removed=removed, pending=pending, notes=notes)
