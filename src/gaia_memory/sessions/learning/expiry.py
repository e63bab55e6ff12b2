"""The step of a sweep that follows the clock: expired facts end, and begun ones go to the mem0 store."""

from __future__ import annotations

from gaia_memory.sessions.ledger_client import LedgerClient

FACTS_PER_TRANSACTION = 200
"""Facts handled at once, so that turns wait for none of it."""

MAX_TRANSACTIONS = 500
"""Transactions of one sweep; the next one goes on."""


async def follow_clock(client: LedgerClient) -> None:
    """End the facts whose validity is over, and put those that have begun to hold into the outbox."""
    now, facts = client.clock.now(), client.facts
    for step in (facts.expire, facts.begin):
        for _ in range(MAX_TRANSACTIONS):
            async with client.database.transaction() as tx:
                count = await step(tx, now=now, limit=FACTS_PER_TRANSACTION)
            if count < FACTS_PER_TRANSACTION:
                break
