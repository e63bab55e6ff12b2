"""The profiles that running sessions are using."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from gaia_memory.models import FrozenProfile, ProfileMaker, Scope, SessionKey
from gaia_memory.ports import MemoryStores


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProfile:
    """The profile block in a session's prompt; empty if nothing was known when the session began.

    `is_current` is false if the configuration changed since: the next turn replaces the block.
    """

    key: SessionKey
    block: str
    made_by: ProfileMaker | None
    made_at: datetime | None
    is_current: bool


async def load_session_profiles(stores: MemoryStores, scope: Scope, *, cache_key: str) -> list[SessionProfile]:
    """Return the profiles of a person's sessions; those made under another `cache_key` are not current."""
    async with stores.database.read_transaction() as tx:
        rows = await stores.ledger.rows_with_profile(tx, user=scope.user, app=scope.app)
    return [_to_session_profile(row.key, row.session.profile, cache_key) for row in rows]


def _to_session_profile(key: SessionKey, frozen: FrozenProfile | None, cache_key: str) -> SessionProfile:
    frozen = frozen or FrozenProfile(block="")
    made_at = None if frozen.made_at is None else datetime.fromtimestamp(frozen.made_at, UTC)
    return SessionProfile(
        key=key, block=frozen.block, made_by=frozen.made_by, made_at=made_at, is_current=frozen.key == cache_key
    )
