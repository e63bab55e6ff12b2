"""Leases on conversations, renewed while work goes on under them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import LedgerRow, SessionKey
from gaia_memory.sessions.ledger_client import LedgerClient

logger = logger_for(__name__)

RENEWAL_INTERVAL_SECONDS = 10.0


@dataclass(slots=True)
class ConversationLease:
    """An acquired lease; `is_released` once a step released it in its own transaction.

    `turn_owner` is the turn for which it was acquired, and which does not block it.
    """

    row: LedgerRow
    turn_owner: str = ""
    is_released: bool = False


@asynccontextmanager
async def acquire_lease(
    client: LedgerClient, key: SessionKey, *, turn_owner: str = "", claimed: LedgerRow | None = None
) -> AsyncIterator[ConversationLease | None]:
    """Yield the lease of a conversation; None if another owner has it, or a turn other than `turn_owner` runs.

    `claimed` is the row if the lease was taken before.
    """
    row = claimed or await client.claim(key, turn_owner=turn_owner)
    if row is None:
        yield None
        return
    renewal_task = asyncio.create_task(_renew_until_lost(client, key))
    lease = ConversationLease(row, turn_owner)
    try:
        yield lease
    finally:
        renewal_task.cancel()
        await asyncio.gather(renewal_task, return_exceptions=True)
        if not lease.is_released:
            await client.release(key)


async def _renew_until_lost(client: LedgerClient, key: SessionKey) -> None:
    is_held = True
    while is_held:
        await asyncio.sleep(RENEWAL_INTERVAL_SECONDS)
        try:
            is_held = await client.renew(key)
        except MemoryUnavailable as error:
            # A short outage of the database costs one renewal: the lease outlasts two.
            fields = log_fields("lease.not_renewed", key, error=type(error).__name__)
            logger.warning("the lease on conversation %s could not be renewed: %s", key.session, error, extra=fields)
