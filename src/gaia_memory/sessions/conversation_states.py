"""What the ledger keeps about a conversation for its host: privacy, a pending question, the profile, the window."""

from __future__ import annotations

from collections.abc import Collection

from gaia_memory.models import FrozenProfile, LedgerRow, Profile, Scope, SessionKey, TurnRequest, WindowAnchor
from gaia_memory.ports import FactStore
from gaia_memory.sessions.ledger_client import LedgerClient


class ConversationStates:
    """Reads and changes the state of conversations. Each change is one short transaction."""

    def __init__(self, client: LedgerClient, facts: FactStore) -> None:
        self._client = client
        self._facts = facts

    async def row(self, key: SessionKey) -> LedgerRow | None:
        """Return the ledger's row of a conversation."""
        return await self._client.row(key)

    async def ensure_row(self, key: SessionKey) -> LedgerRow:
        """Return the ledger's row of a conversation; a new conversation gets a row without turns."""
        client = self._client
        async with client.database.transaction() as tx:
            row = await client.ledger.row(tx, key)
            if row is None:
                row = await client.ledger.reserve_turn(tx, key, TurnRequest(), now=client.now(), lease_seconds=0.0)
        return row

    async def is_private(self, key: SessionKey) -> bool:
        """Return True if messages of a conversation are not learned."""
        row = await self.row(key)
        return row is not None and row.session.is_private

    async def set_private(self, key: SessionKey, is_private: bool) -> None:
        """Set whether later messages of a conversation are private; private messages are not learned."""
        async with self._client.database.transaction() as tx:
            await self._client.ledger.set_private(tx, key, is_private=is_private)

    async def has_pending_confirmation(self, key: SessionKey) -> bool:
        """Return True if facts were listed to be forgotten on confirmation, and the user has not answered."""
        row = await self.row(key)
        return row is not None and row.session.has_pending_confirmation

    async def set_pending_confirmation(self, key: SessionKey, is_pending: bool) -> None:
        """Set whether a question waits for its answer; write only if that changes."""
        if await self.has_pending_confirmation(key) != is_pending:
            async with self._client.database.transaction() as tx:
                await self._client.ledger.set_pending_confirmation(tx, key, is_pending=is_pending)

    async def exclude_events(self, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events."""
        await self._client.skip_events(key, event_ids)

    async def set_anchor(self, key: SessionKey, anchor: WindowAnchor) -> None:
        """Store where the replay window of a session begins."""
        async with self._client.database.transaction() as tx:
            await self._client.ledger.set_anchor(tx, key, anchor)

    async def freeze_profile(
        self, key: SessionKey, scope: Scope, profile: Profile, *, block: str, config_key: str
    ) -> bool:
        """Keep a rendered profile for the rest of the session.

        Returns False, and keeps nothing, when facts were written or forgotten since the profile was made.
        """
        made_at = None if profile.made_at is None else profile.made_at.timestamp()
        frozen = FrozenProfile(block=block, key=config_key, made_at=made_at, made_by=profile.made_by)
        async with self._client.database.transaction() as tx:
            state = await self._facts.state(tx, scope)
            if state.revision != profile.revision:
                return False
            await self._client.ledger.freeze_profile(tx, key, frozen)
        return True
