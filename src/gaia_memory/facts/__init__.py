"""The facts about each person, and the outbox of their changes."""

from gaia_memory.facts.fact_store import FactStore, load_dominant_embedder
from gaia_memory.facts.indexing.sql_indexes import Indexes
from gaia_memory.facts.move_scope import merge_scopes
from gaia_memory.facts.outbox import Outbox

__all__ = ["FactStore", "Indexes", "Outbox", "load_dominant_embedder", "merge_scopes"]
