"""The facts about each person, and the outbox of their changes."""

from gaia_memory.facts.fact_store import FactStore, load_dominant_embedder
from gaia_memory.facts.move_scope import merge_scopes
from gaia_memory.facts.outbox import Outbox
from gaia_memory.facts.sql_indexes import Indexes

__all__ = ["FactStore", "Indexes", "Outbox", "load_dominant_embedder", "merge_scopes"]
