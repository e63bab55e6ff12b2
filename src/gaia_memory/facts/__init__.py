"""The facts about each person, and the outbox of their changes."""

from gaia_memory.facts.indexing.sql_indexes import SqlIndexes
from gaia_memory.facts.outbox import SqlOutbox
from gaia_memory.facts.sql_facts import SqlFacts, load_dominant_embedder

__all__ = ["SqlFacts", "SqlIndexes", "SqlOutbox", "load_dominant_embedder"]
