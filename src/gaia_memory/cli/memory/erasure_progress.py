"""Waiting, with a progress bar, until no file holds what was forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_memory.cli.memory.receipt import EARLIER_FINISHED
from gaia_memory.cli.ui.terminal import Advance, bar, note
from gaia_memory.errors import MemoryUnavailable

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
            status = await engine.memory.status(scope)
            left = status.lag + status.erasures
            if left and follower.ready and not follower.owned:
                try:
                    follower.mem0  # noqa: B018 - it raises with the owner's name
                except StoreNotOwnedError as other:
                    return f"{other.reason}, which finishes the erasure"
            most = max(most, left)
            advance(most - left, most)
        await settling
    finally:
        settling.cancel()
    return None


async def finish_earlier(engine: Engine, scope: Scope) -> None:
    """Go on with what an earlier forget left to be rewritten, and say so; nothing where nothing was left."""
    async with engine.memory.database.reading() as tx:
        if not await engine.memory.outbox.erasures(tx):
            return
    with bar("Rewriting files") as advance:
        try:
            elsewhere = await erased(engine, scope, advance)
        except MemoryUnavailable as away:
            elsewhere = str(away)
    note(f"Files of an earlier forget are still to be rewritten: {elsewhere}." if elsewhere else f"{_FINISHED}.")


_FINISHED = EARLIER_FINISHED[0].upper() + EARLIER_FINISHED[1:]
