"""The profile of a session: made at its first turn, frozen in the ledger, the same bytes in every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_memory.profile.prompts import render_block

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow, Profile, SessionKey

_MAX_TRIES = 2
"""A write between making and freezing a profile makes it stale; a second one in a row costs this turn its block."""


async def profile_block_for_session(engine: Engine, key: SessionKey, row: LedgerRow) -> str:
    """Return the profile block of a session, empty when there is nothing to tell.

    `row` is the session's row as this turn found it: without a frozen profile, or with one of another
    configuration, a new one is made and frozen.
    """
    if not engine.config.memory.preload:
        return ""
    profile_key = engine.live.fingerprint
    if row.profile is not None and row.profile_key == profile_key:
        return row.profile
    for _ in range(_MAX_TRIES):
        profile = await engine.memory.profile(engine.scope(key.app, key.user))
        block = render_block(profile)
        if await _freeze(engine, key, profile, block, profile_key):
            return block
    return ""


async def current_frozen_block(engine: Engine, key: SessionKey, block: str) -> str:
    """Return the block as it is frozen now: a forget drops it, also for the turn that is running."""
    if not block:
        return ""
    row = await engine.turn_presence.row(key)
    return (row.profile if row is not None else None) or ""


async def _freeze(engine: Engine, key: SessionKey, profile: Profile, block: str, profile_key: str) -> bool:
    """Keep the block where nothing was written, and nothing forgotten, since its facts were read."""
    scope = engine.scope(key.app, key.user)
    async with engine.database.transaction() as tx:
        state = await engine.facts.state(tx, scope)
        if state.revision != profile.revision:
            return False
        made_at = None if profile.made_at is None else profile.made_at.timestamp()
        await engine.ledger.freeze_profile(
            tx, key, profile=block, profile_key=profile_key, made_at=made_at, made_by=profile.made_by
        )
    return True
