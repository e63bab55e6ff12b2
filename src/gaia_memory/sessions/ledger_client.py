"""The ledger for one owner: a client with its database, clock and owner name. Each change is one transaction."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import (
    Fact,
    FrozenProfile,
    LedgerRow,
    Profile,
    Scope,
    SessionKey,
    TurnRequest,
    TurnUsage,
    WindowAnchor,
)
from gaia_memory.models.quiet_conversations import LEASE_SECONDS
from gaia_memory.ports import Clock

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore
    from gaia_memory.ledger import Ledger


FACTS_PER_TRANSACTION = 200
"""Facts handled at once, so that turns wait for none of it."""

MAX_TRANSACTIONS = 500
"""Transactions of one sweep; the next one goes on."""


class LedgerClient:
    """Reads and writes the ledger for `owner`; use `ledger` and `database` for longer transactions."""

    def __init__(self, database: Database, ledger: Ledger, facts: FactStore, clock: Clock, *, owner: str) -> None:
        self.database = database
        self.ledger = ledger
        self.facts = facts
        self.clock = clock
        self.owner = owner

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.clock.now().timestamp()

    async def row(self, key: SessionKey) -> LedgerRow | None:
        """Return the ledger's row of a conversation."""
        async with self.database.single_statement(only_reads=True) as tx:
            return await self.ledger.row(tx, key)

    async def claim(self, key: SessionKey, *, turn_owner: str = "") -> LedgerRow | None:
        """Take the lease of a conversation; None while another owner has it, or a turn other than `turn_owner` runs."""
        async with self.database.transaction() as tx:
            return await self.ledger.claim(
                tx, key, self.owner, now=self.now(), lease_seconds=LEASE_SECONDS, turn_owner=turn_owner
            )

    async def renew(self, key: SessionKey) -> bool:
        """Renew the lease of a conversation; False when it was lost."""
        async with self.database.transaction() as tx:
            return await self.ledger.renew(tx, key, self.owner, now=self.now(), lease_seconds=LEASE_SECONDS)

    async def release(self, key: SessionKey) -> None:
        """Release the lease of a conversation."""
        async with self.database.transaction() as tx:
            await self.ledger.release(tx, key, self.owner)

    async def end_stretch(self, key: SessionKey, *, reset_at: float | None) -> None:
        """Release the lease of a learned session that is kept; with `reset_at` no model sees what was said before."""
        async with self.database.transaction() as tx:
            await self.ledger.release(tx, key, self.owner, is_done=True, reset_at=reset_at)
            if reset_at is not None:
                await self.facts.shown.forget_shown(tx, key)

    async def drop_requests(self, key: SessionKey, done: str) -> None:
        """Remove requests that were learned."""
        async with self.database.transaction() as tx:
            await self.ledger.drop_requests(tx, key, done)

    async def release_all(self) -> None:
        """Release all leases of this owner, when it ends."""
        # Without the database leases run out by themselves, and a host that ends has nothing to do about it.
        with suppress(MemoryUnavailable, OSError):
            async with self.database.transaction() as tx:
                await self.ledger.release_all(tx, self.owner)

    async def skip_events(self, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events."""
        async with self.database.transaction() as tx:
            await self.ledger.skip_events(tx, key, event_ids)

    async def ensure_row(self, key: SessionKey) -> LedgerRow:
        """Return the ledger's row of a conversation; a new conversation gets a row without turns."""
        async with self.database.transaction() as tx:
            row = await self.ledger.row(tx, key)
            if row is None:
                row = await self.ledger.reserve_turn(tx, key, TurnRequest(), now=self.now(), lease_seconds=0.0)
        return row

    async def is_private(self, key: SessionKey) -> bool:
        """Return True if messages of a conversation are not learned."""
        row = await self.row(key)
        return row is not None and row.session.is_private

    async def note_command(self, scope: Scope, key: SessionKey, name: str, *, began_at: float) -> None:
        """Note that a person typed a slash command, unless the conversation is private."""
        from gaia_memory.ledger.usage_log import note_usage, usage_parameters

        used = TurnUsage(scope=scope, key=key, began_at=began_at, channel=key.channel, command=name)
        # The command has been answered: what counts it must not make it fail.
        with suppress(MemoryUnavailable, OSError):
            if not await self.is_private(key):
                async with self.database.single_statement() as tx:
                    await tx.execute(note_usage(), usage_parameters(used, now=self.now()))

    async def set_private(self, key: SessionKey, is_private: bool) -> None:
        """Set whether later messages of a conversation are private; private messages are not learned."""
        async with self.database.transaction() as tx:
            await self.ledger.set_private(tx, key, is_private=is_private)

    async def has_pending_confirmation(self, key: SessionKey) -> bool:
        """Return True if facts were listed to be forgotten on confirmation, and the user has not answered."""
        row = await self.row(key)
        return row is not None and row.session.has_pending_confirmation

    async def set_pending_confirmation(self, key: SessionKey, is_pending: bool) -> None:
        """Set whether a question waits for its answer; write only if that changes."""
        if await self.has_pending_confirmation(key) != is_pending:
            async with self.database.transaction() as tx:
                await self.ledger.set_pending_confirmation(tx, key, is_pending=is_pending)

    async def set_anchor(self, key: SessionKey, anchor: WindowAnchor) -> None:
        """Store where the replay window of a session begins."""
        async with self.database.transaction() as tx:
            await self.ledger.set_anchor(tx, key, anchor)

    async def show_facts(
        self, key: SessionKey, scope: Scope, fact_ids: Collection[str], *, is_noted: bool = True
    ) -> dict[str, str]:
        """Return the short ids under which a model sees facts in a conversation.

        Unless `is_noted` is false, the model's tools may name these facts from then on.
        """
        async with self.database.single_statement(only_reads=True) as tx:
            found = await self.facts.shown.short_ids(tx, scope, key, fact_ids)
        new = [fact_id for fact_id, each in found.items() if not each.is_shown] if is_noted else []
        if new:
            async with self.database.transaction() as tx:
                await self.facts.shown.record_shown(tx, scope, key, new)
        return {fact_id: each.text for fact_id, each in found.items()}

    async def shown_facts(self, key: SessionKey, scope: Scope) -> list[Fact]:
        """Return the current facts that a model was shown in a conversation."""
        async with self.database.read_transaction() as tx:
            shown = await self.facts.get(tx, scope, await self.facts.shown.shown_ids(tx, scope, key))
        return list(shown.values())

    async def freeze_profile(
        self, key: SessionKey, scope: Scope, profile: Profile, *, block: str, config_key: str
    ) -> bool:
        """Keep a rendered profile for the rest of the session.

        Returns False, and keeps nothing, when facts were written or forgotten since the profile was made. An empty one
        has nothing to forget, so it is kept without a look at the facts.
        """
        made_at = None if profile.made_at is None else profile.made_at.timestamp()
        frozen = FrozenProfile(block=block, key=config_key, made_at=made_at, made_by=profile.made_by)
        if not block:
            async with self.database.single_statement() as tx:
                await self.ledger.freeze_profile(tx, key, frozen)
            return True
        async with self.database.transaction() as tx:
            state = await self.facts.state(tx, scope)
            if state.revision != profile.revision:
                return False
            await self.ledger.freeze_profile(tx, key, frozen)
        return True


async def follow_clock(client: LedgerClient) -> None:
    """End the facts whose validity is over, and put those that have begun to hold into the outbox."""
    now, validity = client.clock.now(), client.facts.validity
    for step in (validity.expire, validity.begin):
        for _ in range(MAX_TRANSACTIONS):
            async with client.database.transaction() as tx:
                count = await step(tx, now=now, limit=FACTS_PER_TRANSACTION)
            if count < FACTS_PER_TRANSACTION:
                break
