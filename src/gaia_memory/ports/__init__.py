"""Every border with two sides: what the rooms may rely on, whoever stands behind it.

A `Transaction` is an open SQLAlchemy connection: what several stores do with the same one is committed or
rolled back together. No transaction is held over a call to a model, a yield or a stream.
"""

from gaia_memory.ports.external import (
    Embedder,
    Extractor,
    LanguageModel,
    ProjectsProvider,
    Reranker,
    Retriever,
    Transcript,
)
from gaia_memory.ports.ledger import Ledger
from gaia_memory.ports.stores import Clock, Database, FactStore, Follower, Indexes, MemoryStores, Outbox
from gaia_memory.ports.system_clock import SystemClock
from gaia_memory.ports.transaction import Transaction

__all__ = [
    "Clock",
    "Database",
    "Embedder",
    "Extractor",
    "FactStore",
    "Follower",
    "Indexes",
    "LanguageModel",
    "Ledger",
    "MemoryStores",
    "Outbox",
    "ProjectsProvider",
    "Reranker",
    "Retriever",
    "SystemClock",
    "Transaction",
    "Transcript",
]
