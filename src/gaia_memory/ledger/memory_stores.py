"""The stores that share the memory database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_memory.ledger.ledger import Ledger
    from gaia_memory.ports import Database, FactStore, Outbox


class MemoryStores(NamedTuple):
    """The memory database and the three stores in it, which share its transactions."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox
