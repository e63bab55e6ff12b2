"""The profiles that running sessions are using."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gaia_memory.models import DEFAULT_CONTEXT, FrozenProfile, ProfileMaker, Scope, SessionKey
from gaia_memory.redaction.credentials import mask_credentials

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

_CONTEXT_SEPARATOR = " context="


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProfile:
    """The profile block in a session's prompt; empty if nothing was known when the session began.

    `is_current` is false if the configuration changed or a fact ended since: the next turn replaces the block.
    """

    key: SessionKey
    block: str
    made_by: ProfileMaker | None
    made_at: datetime | None
    is_current: bool


def frozen_profile_key(cache_key: str, context: str) -> str:
    """Return the key of a frozen profile: that of the configuration, and the context unless it is `global`."""
    return cache_key if context == DEFAULT_CONTEXT else f"{cache_key}{_CONTEXT_SEPARATOR}{context}"


async def load_session_profiles(
    stores: MemoryStores, scope: Scope, *, cache_key: str, allow_numbers: bool = False
) -> list[SessionProfile]:
    """Return the profiles of a person's sessions, credentials masked.

    Those made under another `cache_key` are not current. `allow_numbers` is `memory.allow_numbers`.
    """
    async with stores.database.read_transaction() as tx:
        rows = await stores.ledger.rows_with_profile(tx, user=scope.user, app=scope.app)
    return [_to_session_profile(row.key, row.session.profile, cache_key, allow_numbers) for row in rows]


def _to_session_profile(
    key: SessionKey, frozen: FrozenProfile | None, cache_key: str, allow_numbers: bool
) -> SessionProfile:
    frozen = frozen or FrozenProfile(block="")
    made_at = None if frozen.made_at is None else datetime.fromtimestamp(frozen.made_at, UTC)
    block = mask_credentials(frozen.block, allow_numbers=allow_numbers)
    configuration = None if frozen.key is None else frozen.key.partition(_CONTEXT_SEPARATOR)[0]
    return SessionProfile(
        key=key, block=block, made_by=frozen.made_by, made_at=made_at, is_current=configuration == cache_key
    )
