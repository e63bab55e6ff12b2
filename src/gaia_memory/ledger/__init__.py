"""The ledger: how far each conversation is learned, which process works on it, whether a turn is running."""

from gaia_memory.ledger.ledger import Ledger
from gaia_memory.ledger.memory_stores import MemoryStores
from gaia_memory.ledger.process_identity import is_owner_dead, mark_dead, new_owner, process_name
from gaia_memory.ledger.token_sums import add_token_sums, load_token_sums

__all__ = [
    "Ledger",
    "MemoryStores",
    "add_token_sums",
    "is_owner_dead",
    "load_token_sums",
    "mark_dead",
    "new_owner",
    "process_name",
]
