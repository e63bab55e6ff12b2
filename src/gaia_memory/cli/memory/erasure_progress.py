"""Waiting, with a progress bar, until no file holds what was forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gaia_memory.cli.memory.receipt import EARLIER_FINISHED_NOTE
from gaia_memory.cli.ui.terminal import ProgressCallback, print_note, progress_bar
from gaia_memory.errors import MemoryUnavailable

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import Scope

_POLL_SECONDS = 0.05


async def wait_for_erasure(engine: Engine, scope: Scope, advance: ProgressCallback) -> str | None:
    """Wait for the erasure where this process can own the store; else return who does, and that it finishes it.

    Raises:
        StoreStalledError: it makes no progress.
    """
    from gaia_memory.errors import StoreNotOwnedError

    follower = engine.follower
    follower.start()
    settle_task = asyncio.create_task(engine.memory.settled())
    total = 1
    try:
        while not (await asyncio.wait({settle_task}, timeout=_POLL_SECONDS))[0]:
            status = await engine.memory.status(scope)
            remaining = status.lag + status.erasures
            if remaining and follower.is_ready and not follower.is_owner:
                try:
                    follower.mem0  # noqa: B018 - it raises with the owner's name
                except StoreNotOwnedError as error:
                    return f"{error.reason}, which finishes the erasure"
            total = max(total, remaining)
            advance(total - remaining, total)
        await settle_task
    finally:
        settle_task.cancel()
    return None


async def finish_earlier_erasure(engine: Engine, scope: Scope) -> None:
    """Go on with what an earlier forget left to be rewritten, and say so; nothing where nothing was left."""
    async with engine.memory.database.read_transaction() as tx:
        if not await engine.memory.outbox.pending_erasures(tx):
            return
    with progress_bar("Rewriting files") as advance:
        try:
            other_owner = await wait_for_erasure(engine, scope, advance)
        except MemoryUnavailable as error:
            other_owner = str(error)
    print_note(
        f"Files of an earlier forget are still to be rewritten: {other_owner}." if other_owner else f"{_FINISHED_NOTE}."
    )


_FINISHED_NOTE = EARLIER_FINISHED_NOTE[0].upper() + EARLIER_FINISHED_NOTE[1:]
