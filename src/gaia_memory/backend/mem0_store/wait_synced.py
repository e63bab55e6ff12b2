"""Waits until the mem0 store is up to date, in the process that writes it or in any other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_memory.errors import StoreStalledError
from gaia_memory.models import StoreState

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox

POLL_SECONDS = 0.05

Progress = Callable[[int, int], None]


async def wait_until_synced(
    database: Database, outbox: Outbox, follower: StoreFollower, *, stall_seconds: float, progress: Progress
) -> None:
    """Return when all erasures are done and every row that is dirty now has left the outbox.

    When the store is created meanwhile, every row that is dirty then has to leave. `progress` is called with the steps
    done and their total.

    Raises:
        StoreStalledError: nothing changed for `stall_seconds`.
    """
    store_id, last_place = "", None
    last_snapshot, changed_at, total = None, 0.0, 0
    while True:
        # A follower that becomes ready after the look at the outbox may have created another store in between.
        is_ready = follower.is_ready
        async with database.read_transaction() as tx:
            state = await outbox.store(tx)
            if not is_ready or state.store_id != store_id:
                store_id, last_place = state.store_id, None
            dirty_count, last_place = await outbox.count_dirty(tx, up_to=last_place)
        if is_ready and not dirty_count and not state.erasures:
            return
        total = max(total, dirty_count + state.erasures)
        progress(total - dirty_count - state.erasures, total)
        now = asyncio.get_running_loop().time()
        snapshot = (is_ready, dirty_count, state)
        if snapshot != last_snapshot:
            last_snapshot, changed_at = snapshot, now
        elif now - changed_at >= stall_seconds:
            reason = follower.trouble or await database.find_problem()
            raise _stalled(follower, state, dirty_count, stall_seconds, f" ({reason})" if reason else "")
        await asyncio.sleep(POLL_SECONDS)


def _stalled(
    follower: StoreFollower, state: StoreState, dirty_count: int, seconds: float, reason: str
) -> StoreStalledError:
    if follower.is_owner:
        owner = f"this process (pid {os.getpid()})"
        remedy = "put right what the reason names, or restart the process; nothing is lost"
    else:
        owner = state.owner_description or "another process"
        remedy = "check what that process is doing, or end it: this process then takes over, and nothing is lost"
    return StoreStalledError(
        f"the mem0 store, owned by {owner}, made no progress for {seconds:g} s: {dirty_count} facts and "
        f"{state.erasures} erasures wait{reason}",
        remedy=remedy,
    )
