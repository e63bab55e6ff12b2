"""Waiting, with a progress bar, until no file holds what was forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_memory.cli.terminal import Advance

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import Scope

_LOOK_SECONDS = 0.05


async def erased(engine: Engine, scope: Scope, advance: Advance) -> str | None:
    """Wait for the erasure where this process can own the store; else return who does, and that it finishes it.

    Raises:
        StoreStalledError: it makes no progress.
    """
    from gaia_memory.errors import StoreNotOwnedError

    follower = engine.follower
    follower.start()
    settling = asyncio.create_task(engine.memory.settled())
    most = 1
    try:
        while not (await asyncio.wait({settling}, timeout=_LOOK_SECONDS))[0]:
            if follower.ready and not follower.owned:
                try:
                    follower.mem0  # noqa: B018 - it raises with the owner's name
                except StoreNotOwnedError as other:
                    return f"{other.reason}, which finishes the erasure"
            status = await engine.memory.status(scope)
            left = status.lag + status.erasures
            most = max(most, left)
            advance(most - left, most)
        await settling
    finally:
        settling.cancel()
    return None
