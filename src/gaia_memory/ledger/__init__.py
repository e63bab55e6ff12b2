"""The ledger: how far each conversation is learned, who is at work on it, whether somebody is talking."""

from gaia_memory.ledger.ledger import SqlLedger
from gaia_memory.ledger.owner import owner_is_gone, this_process

__all__ = ["SqlLedger", "owner_is_gone", "this_process"]
