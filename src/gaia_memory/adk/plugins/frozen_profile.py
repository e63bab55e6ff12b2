"""The profile of a session: created at its first turn, frozen in the ledger, and identical in every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_memory.profile.prompts import render_block

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow, SessionKey

_MAX_TRIES = 2
"""A write between creating and freezing a profile makes it stale; after a second one, this turn has no profile."""


async def profile_block_for_session(engine: Engine, key: SessionKey, row: LedgerRow) -> str:
    """Return the profile block of a session; empty if there is none.

    `row` is the session's row at the start of this turn: without a frozen profile, or with one of another
    configuration, a new one is created and frozen.
    """
    if not engine.config.memory.preload:
        return ""
    profile_key = engine.live.fingerprint
    frozen = row.session.profile
    if frozen is not None and frozen.key == profile_key:
        return frozen.block
    for _ in range(_MAX_TRIES):
        scope = engine.scope(key.app, key.user)
        profile = await engine.memory.profile(scope)
        block = render_block(profile)
        if await engine.conversations.freeze_profile(key, scope, profile, block=block, config_key=profile_key):
            return block
    return ""


async def current_frozen_block(engine: Engine, key: SessionKey, block: str) -> str:
    """Return the currently frozen block: a forget drops it, even for a running turn."""
    if not block:
        return ""
    row = await engine.conversations.row(key)
    frozen = row.session.profile if row is not None else None
    return frozen.block if frozen is not None else ""
