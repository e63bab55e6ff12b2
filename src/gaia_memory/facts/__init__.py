"""The truth: what is held true about each person, with its keyword index and its outbox."""

from gaia_memory.facts.indexing.reindex_batches import SqlIndexes
from gaia_memory.facts.outbox import SqlOutbox
from gaia_memory.facts.sql_facts import SqlFacts

__all__ = ["SqlFacts", "SqlIndexes", "SqlOutbox"]
