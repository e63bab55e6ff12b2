"""The ledger: how far each conversation is learned, who is at work on it, whether somebody is talking."""

from gaia_memory.ledger.process_identity import new_owner, owner_is_gone, retire, this_process
from gaia_memory.ledger.sql_ledger import SqlLedger

__all__ = ["SqlLedger", "new_owner", "owner_is_gone", "retire", "this_process"]
