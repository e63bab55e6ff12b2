"""The ledger: how far each conversation is learned, which process works on it, whether a turn is running."""

from gaia_memory.ledger.process_identity import is_owner_dead, mark_dead, new_owner, process_name
from gaia_memory.ledger.sql_ledger import SqlLedger
from gaia_memory.ledger.token_sums import add_token_sums, load_token_sums

__all__ = ["SqlLedger", "add_token_sums", "load_token_sums", "new_owner", "is_owner_dead", "mark_dead", "process_name"]
