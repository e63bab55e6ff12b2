"""Waits until no file contains what was forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_memory.errors import StoreNotOwnedError
from gaia_memory.ports import Follower

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

_POLL_SECONDS = 0.05


async def finish_erasures(stores: MemoryStores, follower: Follower, progress: Callable[[int, int], None]) -> str | None:
    """Wait for the pending erasures if this process can own the mem0 store; else return which process finishes them.

    `progress` is called with the number of steps done and their total.

    Raises:
        StoreStalledError: there is no progress.
    """
    follower.start()
    settle_task = asyncio.create_task(follower.settled())
    total = 1
    try:
        while not (await asyncio.wait({settle_task}, timeout=_POLL_SECONDS))[0]:
            async with stores.database.read_transaction() as tx:
                state = await stores.outbox.store(tx)
            remaining = state.lag + state.erasures
            if remaining and follower.is_ready and not follower.is_owner:
                try:
                    follower.mem0  # noqa: B018 - it raises with the owner's name
                except StoreNotOwnedError as error:
                    return f"{error.reason}, which finishes the erasure"
            total = max(total, remaining)
            progress(total - remaining, total)
        await settle_task
    finally:
        settle_task.cancel()
    return None
