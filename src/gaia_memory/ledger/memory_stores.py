"""The stores that share the memory database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore
    from gaia_memory.facts.outbox import Outbox
    from gaia_memory.ledger.ledger import Ledger


class MemoryStores(NamedTuple):
    """The memory database and the three stores in it, which share its transactions."""

    database: Database
    facts: FactStore
    ledger: Ledger
    outbox: Outbox
