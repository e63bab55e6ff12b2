"""The facts about each person, and the outbox of their changes."""

from gaia_memory.facts.indexing.sql_indexes import Indexes
from gaia_memory.facts.outbox import Outbox
from gaia_memory.facts.sql_facts import SqlFacts, load_dominant_embedder

__all__ = ["SqlFacts", "Indexes", "Outbox", "load_dominant_embedder"]
